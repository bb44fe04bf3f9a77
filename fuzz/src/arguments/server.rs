//! A server that answers anything.

use std::future::{Future, ready};
use std::sync::{Mutex, PoisonError};

use redis::Value;
use tidegate_redis::{Call, CallError, Caller, Fault};

use crate::pieces::Pieces;

/// When so many calls were answered, no more are.
const MOST_CALLS: usize = 40;

/// Answers with what is left of the bytes, and remembers what it was asked.
pub(super) struct Server {
    is_one: bool,
    charges: usize,
    talk: Mutex<Talk>,
}

struct Talk {
    left: Vec<u8>,
    calls: Vec<Call>,
}

impl Server {
    pub(super) fn new(is_one: bool, charges: usize, left: &[u8]) -> Self {
        Self { is_one, charges, talk: Mutex::new(Talk { left: left.to_vec(), calls: Vec::new() }) }
    }

    /// What it was asked.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner).calls.clone()
    }

    fn answer(&self, call: Call) -> Result<Value, CallError> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        talk.calls.push(call);
        let left = std::mem::take(&mut talk.left);
        let mut pieces = Pieces::new(&left);
        if pieces.is_empty() || talk.calls.len() > MOST_CALLS {
            return Err(failed(false));
        }
        let answer = answer(&mut pieces, self.charges);
        talk.left = pieces.rest().to_vec();
        answer
    }
}

impl Caller for Server {
    fn call(&self, call: Call) -> impl Future<Output = Result<Value, CallError>> + Send {
        ready(self.answer(call))
    }

    fn are_neighbours(&self, one: &[u8], other: &[u8]) -> bool {
        self.is_one || one == other
    }
}

fn failed(may_have_run: bool) -> CallError {
    CallError { shard: "a".to_owned(), fault: Fault::TimedOut, may_have_run }
}

fn answer(pieces: &mut Pieces<'_>, charges: usize) -> Result<Value, CallError> {
    match pieces.below(8) {
        0 => Err(failed(pieces.is_odd())),
        1 => Ok(Value::Nil),
        2 => Ok(Value::Int(i64::from_ne_bytes(pieces.number().to_ne_bytes()))),
        3 => {
            let count = pieces.below(5);
            let values = (0..count).map(|_| answer(pieces, charges)).collect::<Result<_, _>>();
            values.map(Value::Array)
        }
        4 => Ok(Value::BulkString(told(pieces, charges))),
        5 => Ok(Value::BulkString([&[1], pieces.word()].concat())),
        6 => Ok(Value::BulkString(pieces.rest().to_vec())),
        _ => Ok(Value::BulkString(pieces.word().to_vec())),
    }
}

/// An answer to charges in the form that the general script has.
fn told(pieces: &mut Pieces<'_>, charges: usize) -> Vec<u8> {
    let count = if pieces.is_odd() { charges } else { pieces.below(4).into() };
    let mut bytes = vec![pieces.one_of(b"AAAAPQT")];
    bytes.extend(double(pieces));
    bytes.extend(u128::from(pieces.number()).to_be_bytes());
    bytes.extend(double(pieces));
    for _ in 0..count {
        bytes.extend([pieces.below(2), pieces.below(6)]);
        for _ in 0..4 {
            bytes.extend(double(pieces));
        }
        bytes.extend([0; 8]);
    }
    bytes
}

#[expect(clippy::cast_precision_loss, reason = "any number will do")]
fn double(pieces: &mut Pieces<'_>) -> [u8; 8] {
    (pieces.number() as f64).to_le_bytes()
}
