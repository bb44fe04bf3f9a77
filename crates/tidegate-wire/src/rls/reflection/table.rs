//! The files, messages, fields and numbers; those that others speak of go first.

use envoy_types::pb::google::protobuf::{
    DescriptorProto, FileDescriptorProto, MessageOptions, MethodDescriptorProto, OneofDescriptorProto,
    ServiceDescriptorProto,
};

use super::{Of, file, message, values};

const DURATION: &str = "google/protobuf/duration.proto";
const WRAPPERS: &str = "google/protobuf/wrappers.proto";
const STRUCT: &str = "google/protobuf/struct.proto";
const BASE: &str = "envoy/config/core/v3/base.proto";
const UNIT: &str = "envoy/type/v3/ratelimit_unit.proto";
const DESCRIPTOR: &str = "envoy/extensions/common/ratelimit/v3/ratelimit.proto";
const SERVICE: &str = "envoy/service/ratelimit/v3/rls.proto";

const UNITS: [(&str, i32); 7] =
    [("UNKNOWN", 0), ("SECOND", 1), ("MINUTE", 2), ("HOUR", 3), ("DAY", 4), ("MONTH", 5), ("YEAR", 6)];

pub(super) fn files() -> Vec<FileDescriptorProto> {
    vec![duration(), wrappers(), structs(), base(), unit(), descriptor(), service()]
}

fn duration() -> FileDescriptorProto {
    let fields = [("seconds", 1, Of::I64), ("nanos", 2, Of::I32)];
    FileDescriptorProto {
        message_type: vec![message("Duration", &fields)],
        ..file(DURATION, "google.protobuf", &[])
    }
}

fn wrappers() -> FileDescriptorProto {
    let message_type = vec![message("UInt64Value", &[("value", 1, Of::U64)])];
    FileDescriptorProto { message_type, ..file(WRAPPERS, "google.protobuf", &[]) }
}

fn structs() -> FileDescriptorProto {
    let entry = DescriptorProto {
        options: Some(MessageOptions { map_entry: Some(true), ..MessageOptions::default() }),
        ..message("FieldsEntry", &[("key", 1, Of::Text), ("value", 2, Of::One(".google.protobuf.Value"))])
    };
    let fields = DescriptorProto {
        nested_type: vec![entry],
        ..message("Struct", &[("fields", 1, Of::Many(".google.protobuf.Struct.FieldsEntry"))])
    };
    let list = message("ListValue", &[("values", 1, Of::Many(".google.protobuf.Value"))]);
    FileDescriptorProto {
        message_type: vec![fields, value(), list],
        enum_type: vec![values("NullValue", &[("NULL_VALUE", 0)])],
        ..file(STRUCT, "google.protobuf", &[])
    }
}

/// One of several kinds.
fn value() -> DescriptorProto {
    let fields = [
        ("null_value", 1, Of::Enum(".google.protobuf.NullValue")),
        ("number_value", 2, Of::Double),
        ("string_value", 3, Of::Text),
        ("bool_value", 4, Of::Truth),
        ("struct_value", 5, Of::One(".google.protobuf.Struct")),
        ("list_value", 6, Of::One(".google.protobuf.ListValue")),
    ];
    let mut value = message("Value", &fields);
    for field in &mut value.field {
        field.oneof_index = Some(0);
    }
    value.oneof_decl = vec![OneofDescriptorProto { name: Some("kind".to_owned()), options: None }];
    value
}

fn base() -> FileDescriptorProto {
    let fields = [("key", 1, Of::Text), ("value", 2, Of::Text), ("raw_value", 3, Of::Bytes)];
    FileDescriptorProto {
        message_type: vec![message("HeaderValue", &fields)],
        ..file(BASE, "envoy.config.core.v3", &[])
    }
}

fn unit() -> FileDescriptorProto {
    FileDescriptorProto {
        enum_type: vec![values("RateLimitUnit", &UNITS)],
        ..file(UNIT, "envoy.type.v3", &[])
    }
}

fn descriptor() -> FileDescriptorProto {
    let entry = message("Entry", &[("key", 1, Of::Text), ("value", 2, Of::Text)]);
    let limit = [("requests_per_unit", 1, Of::U32), ("unit", 2, Of::Enum(".envoy.type.v3.RateLimitUnit"))];
    let fields = [
        ("entries", 1, Of::Many(".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.Entry")),
        ("limit", 2, Of::One(".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor.RateLimitOverride")),
        ("hits_addend", 3, Of::One(".google.protobuf.UInt64Value")),
        ("is_negative_hits", 4, Of::Truth),
    ];
    let descriptor = DescriptorProto {
        nested_type: vec![entry, message("RateLimitOverride", &limit)],
        ..message("RateLimitDescriptor", &fields)
    };
    FileDescriptorProto {
        message_type: vec![descriptor],
        ..file(DESCRIPTOR, "envoy.extensions.common.ratelimit.v3", &[UNIT, WRAPPERS])
    }
}

fn service() -> FileDescriptorProto {
    let method = MethodDescriptorProto {
        name: Some("ShouldRateLimit".to_owned()),
        input_type: Some(".envoy.service.ratelimit.v3.RateLimitRequest".to_owned()),
        output_type: Some(".envoy.service.ratelimit.v3.RateLimitResponse".to_owned()),
        ..MethodDescriptorProto::default()
    };
    let service = ServiceDescriptorProto {
        name: Some("RateLimitService".to_owned()),
        method: vec![method],
        options: None,
    };
    FileDescriptorProto {
        message_type: vec![request(), response()],
        service: vec![service],
        ..file(SERVICE, "envoy.service.ratelimit.v3", &[BASE, DESCRIPTOR, DURATION, STRUCT])
    }
}

fn request() -> DescriptorProto {
    let fields = [
        ("domain", 1, Of::Text),
        ("descriptors", 2, Of::Many(".envoy.extensions.common.ratelimit.v3.RateLimitDescriptor")),
        ("hits_addend", 3, Of::U32),
    ];
    message("RateLimitRequest", &fields)
}

fn response() -> DescriptorProto {
    let fields = [
        ("overall_code", 1, Of::Enum(".envoy.service.ratelimit.v3.RateLimitResponse.Code")),
        ("statuses", 2, Of::Many(".envoy.service.ratelimit.v3.RateLimitResponse.DescriptorStatus")),
        ("response_headers_to_add", 3, Of::Many(".envoy.config.core.v3.HeaderValue")),
        ("request_headers_to_add", 4, Of::Many(".envoy.config.core.v3.HeaderValue")),
        ("raw_body", 5, Of::Bytes),
        ("dynamic_metadata", 6, Of::One(".google.protobuf.Struct")),
    ];
    DescriptorProto {
        nested_type: vec![limit(), status()],
        enum_type: vec![values("Code", &[("UNKNOWN", 0), ("OK", 1), ("OVER_LIMIT", 2)])],
        ..message("RateLimitResponse", &fields)
    }
}

fn limit() -> DescriptorProto {
    let fields = [
        ("requests_per_unit", 1, Of::U32),
        ("unit", 2, Of::Enum(".envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit")),
        ("name", 3, Of::Text),
    ];
    let units: Vec<_> = UNITS.into_iter().chain([("WEEK", 7)]).collect();
    DescriptorProto { enum_type: vec![values("Unit", &units)], ..message("RateLimit", &fields) }
}

fn status() -> DescriptorProto {
    let fields = [
        ("code", 1, Of::Enum(".envoy.service.ratelimit.v3.RateLimitResponse.Code")),
        ("current_limit", 2, Of::One(".envoy.service.ratelimit.v3.RateLimitResponse.RateLimit")),
        ("limit_remaining", 3, Of::U32),
        ("duration_until_reset", 4, Of::One(".google.protobuf.Duration")),
    ];
    message("DescriptorStatus", &fields)
}
