//! Who counts together: every node says now and then that it is there, and hears who else is.

use std::time::Duration;

use smallvec::SmallVec;
use tidegate_store::StoreError;

use crate::call::{Call, Caller};
use crate::scripts;
use crate::store::Redis;

/// What a node says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// Another one for each start of each node.
    pub id: String,
    /// Whatever others want to know, as a line of text. Nothing secret: whoever reads Redis reads it. Empty when it leaves.
    pub told: String,
    /// How long it is taken to be there without being heard of again.
    pub term: Duration,
}

/// Those who count together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assembly {
    /// Who is there, by their ids.
    pub members: Vec<Member>,
}

/// A node that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub id: String,
    /// When it was last heard of.
    pub age: Duration,
    /// What it told of itself.
    pub told: String,
}

impl<C: Caller> Redis<C> {
    /// Says that this node is there, and hears who is.
    pub async fn beat(&self, beat: &Heartbeat) -> Result<Assembly, StoreError> {
        let term = beat.term.as_millis().to_string();
        let arguments = [&beat.id, &beat.told, &term].map(|text| text.clone().into_bytes());
        let call = Call::new(
            &scripts::MEMBERS,
            SmallVec::from_iter([self.names().members()]),
            arguments.into_iter().collect(),
        );
        let mut assembly = read(self.caller().call(call).await.map_err(crate::store::unavailable)?)
            .ok_or_else(crate::store::garbled)?;
        assembly.members.sort_unstable_by(|one, other| one.id.cmp(&other.id));
        Ok(assembly)
    }
}

fn read(reply: redis::Value) -> Option<Assembly> {
    let redis::Value::Array(told) = reply else { return None };
    let told: Vec<String> = told.into_iter().map(text).collect::<Option<_>>()?;
    let (members, rest) = told.as_chunks::<3>();
    let member = |[id, age, told]: &[String; 3]| {
        Some(Member { id: id.clone(), age: Duration::from_millis(age.parse().ok()?), told: told.clone() })
    };
    let members = members.iter().map(member).collect::<Option<_>>()?;
    rest.is_empty().then_some(Assembly { members })
}

fn text(value: redis::Value) -> Option<String> {
    match value {
        redis::Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}
