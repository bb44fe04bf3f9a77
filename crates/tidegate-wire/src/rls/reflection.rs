//! The service as it describes itself to tools such as grpcurl: what of Envoy's interface it takes and gives.
//!
//! The crate with Envoy's types has no descriptors, hence this table. What the service neither reads nor sends is left out.

mod table;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use envoy_types::pb::google::protobuf::field_descriptor_proto::{Label, Type};
use envoy_types::pb::google::protobuf::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet,
};
use prost::Message as _;

static ENCODED: LazyLock<Vec<u8>> = LazyLock::new(|| set().encode_to_vec());

/// The descriptors of the service and of all that it speaks of, as `tonic-reflection` takes them.
pub fn file_descriptor_set() -> &'static [u8] {
    &ENCODED
}

/// What a field holds.
#[derive(Clone, Copy)]
enum Of {
    Text,
    Bytes,
    Truth,
    U32,
    U64,
    I32,
    I64,
    Double,
    Enum(&'static str),
    One(&'static str),
    Many(&'static str),
}

fn set() -> FileDescriptorSet {
    FileDescriptorSet { file: table::files() }
}

fn file(name: &str, package: &str, dependencies: &[&str]) -> FileDescriptorProto {
    FileDescriptorProto {
        name: Some(name.to_owned()),
        package: Some(package.to_owned()),
        dependency: dependencies.iter().map(|name| (*name).to_owned()).collect(),
        syntax: Some("proto3".to_owned()),
        ..FileDescriptorProto::default()
    }
}

fn message(name: &str, fields: &[(&str, i32, Of)]) -> DescriptorProto {
    DescriptorProto {
        name: Some(name.to_owned()),
        field: fields.iter().map(|(name, number, of)| field(name, *number, *of)).collect(),
        ..DescriptorProto::default()
    }
}

fn field(name: &str, number: i32, of: Of) -> FieldDescriptorProto {
    let (kind, type_name) = kind(of);
    let label = if matches!(of, Of::Many(_)) { Label::Repeated } else { Label::Optional };
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(label.into()),
        r#type: Some(kind.into()),
        type_name: type_name.map(str::to_owned),
        ..FieldDescriptorProto::default()
    }
}

fn kind(of: Of) -> (Type, Option<&'static str>) {
    match of {
        Of::Text => (Type::String, None),
        Of::Bytes => (Type::Bytes, None),
        Of::Truth => (Type::Bool, None),
        Of::U32 => (Type::Uint32, None),
        Of::U64 => (Type::Uint64, None),
        Of::I32 => (Type::Int32, None),
        Of::I64 => (Type::Int64, None),
        Of::Double => (Type::Double, None),
        Of::Enum(name) => (Type::Enum, Some(name)),
        Of::One(name) | Of::Many(name) => (Type::Message, Some(name)),
    }
}

fn values(name: &str, values: &[(&str, i32)]) -> EnumDescriptorProto {
    let value = |(name, number): &(&str, i32)| EnumValueDescriptorProto {
        name: Some((*name).to_owned()),
        number: Some(*number),
        options: None,
    };
    EnumDescriptorProto {
        name: Some(name.to_owned()),
        value: values.iter().map(value).collect(),
        ..EnumDescriptorProto::default()
    }
}
