//! A `RateLimitResponse` in protobuf.

use serde_json::{Map, Value as Json};

use super::protobuf::Writer;
use super::{DescriptorStatus, RateLimitResponse, ResponseMetadata};

const OK: u64 = 1;
const OVER_LIMIT: u64 = 2;

/// Room for most answers, for each descriptor, and for what is in them as it is.
const ROOM: usize = 352;
const ROOM_PER_STATUS: usize = 48;

fn room(response: &RateLimitResponse<'_>) -> usize {
    ROOM + response.statuses.len() * ROOM_PER_STATUS + response.to_client.size() + response.body.len()
}

/// A `RateLimitResponse`, in the frame of a gRPC message.
pub fn encode_response(response: &RateLimitResponse<'_>) -> Vec<u8> {
    let mut out = Writer(Vec::with_capacity(room(response)));
    // Not compressed, and so long.
    out.0.extend_from_slice(&[0; FRAME_BYTES]);
    out.number(1, code(!response.allowed));
    for told in &response.statuses {
        out.message(2, |out| status(out, told));
    }
    for (name, value) in response.to_client.bytes() {
        out.message(3, |out| header(out, name, value));
    }
    for (name, value) in &response.to_upstream {
        out.message(4, |out| header(out, name, value.as_bytes()));
    }
    out.bytes(5, &response.body);
    out.message(6, |out| metadata(out, &response.metadata));
    let length = u32::try_from(out.0.len() - FRAME_BYTES).unwrap_or(u32::MAX);
    out.0[1..FRAME_BYTES].copy_from_slice(&length.to_be_bytes());
    out.0
}

/// Bytes before a message of gRPC: whether it is compressed, and its length.
pub const FRAME_BYTES: usize = 5;

const fn code(over: bool) -> u64 {
    if over { OVER_LIMIT } else { OK }
}

fn status(out: &mut Writer, status: &DescriptorStatus<'_>) {
    out.number(1, code(status.over));
    if let Some(current) = &status.current {
        out.message(2, |out| {
            out.number(1, current.amount.into());
            out.number(2, current.unit as u64);
            out.bytes(3, current.name.as_bytes());
        });
    }
    out.number(3, status.remaining.into());
    if let Some(seconds) = status.reset_s {
        out.message(4, |out| out.number(1, seconds.min(i64::MAX as u64)));
    }
}

fn header(out: &mut Writer, name: &str, value: &[u8]) {
    out.bytes(1, name.as_bytes());
    out.bytes(2, value);
}

fn metadata(out: &mut Writer, metadata: &ResponseMetadata<'_>) {
    for (name, word) in metadata.words() {
        text(out, name, word);
    }
    if let Some(snapshot) = metadata.snapshot() {
        #[expect(clippy::cast_precision_loss, reason = "versions of rules are counted from 1")]
        field(out, "snapshot", |out| out.double(NUMBER, snapshot as f64));
    }
    for (name, json) in &metadata.request {
        field(out, name, |out| value(out, json));
    }
    if !metadata.passed.is_empty() {
        field(out, "metadata", |out| out.message(OBJECT, |out| object(out, &metadata.passed)));
    }
}

/// The kinds of a `google.protobuf.Value`, by their fields.
const NULL: u8 = 1;
const NUMBER: u8 = 2;
const TEXT: u8 = 3;
const TRUTH: u8 = 4;
const OBJECT: u8 = 5;
const LIST: u8 = 6;

/// An entry of a `google.protobuf.Struct`.
fn field(out: &mut Writer, name: &str, write: impl FnOnce(&mut Writer)) {
    out.message(1, |out| {
        out.bytes(1, name.as_bytes());
        out.message(2, write);
    });
}

/// The same for a text.
fn text(out: &mut Writer, name: &str, text: &str) {
    if !out.short_entry(name.as_bytes(), (TEXT, text.as_bytes())) {
        field(out, name, |out| out.bytes_or_none(TEXT, text.as_bytes()));
    }
}

fn object(out: &mut Writer, fields: &Map<String, Json>) {
    for (name, json) in fields {
        field(out, name, |out| value(out, json));
    }
}

fn value(out: &mut Writer, json: &Json) {
    match json {
        Json::Null => out.0.extend_from_slice(&[NULL << 3, 0]),
        Json::Bool(truth) => out.0.extend_from_slice(&[TRUTH << 3, u8::from(*truth)]),
        Json::Number(number) => out.double(NUMBER, number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => out.bytes_or_none(TEXT, text.as_bytes()),
        Json::Array(list) => out.message(LIST, |out| {
            for one in list {
                out.message(1, |out| value(out, one));
            }
        }),
        Json::Object(fields) => out.message(OBJECT, |out| object(out, fields)),
    }
}
