//! Tenants, tiers and domains with servers of their own: calls go by the tag of their keys, which stands for the home.

use std::collections::HashMap;
use std::future::Future;

use crate::call::{Call, CallError, Caller};
use crate::names::{Names, Tag};
use crate::settings::Settings;
use crate::shards::{Shard, Shards};

/// Callers by home, and one for all others.
pub struct Routed<C> {
    others: C,
    own: Vec<C>,
    by_tag: HashMap<Tag, usize>,
    by_front: HashMap<[u8; 4], usize>,
}

impl<C: Caller> Routed<C> {
    /// All calls go to that caller, until homes are given others.
    pub fn new(others: C) -> Self {
        Self { others, own: Vec::new(), by_tag: HashMap::new(), by_front: HashMap::new() }
    }

    /// Calls for the counters of these homes, each as its parts, go to a caller of their own. What is [apart](Settings::fronts_apart),
    /// such as a domain alone, stands for all homes that begin so and have no other caller. Homes that have the same tag by chance,
    /// one in 16 million, go with them.
    pub fn route<'h>(&mut self, settings: &Settings, homes: impl IntoIterator<Item = &'h [&'h [u8]]>, to: C) {
        let names = Names::of(settings);
        for home in homes {
            let encoded = tidegate_core::EncodedParts::new(home);
            if names.is_apart(&encoded) {
                self.by_front.insert(names.front(home), self.own.len());
            } else {
                self.by_tag.insert(names.tag(encoded.as_bytes()), self.own.len());
            }
        }
        self.own.push(to);
    }

    /// All callers, the one for all others first.
    pub fn all(&self) -> impl Iterator<Item = &C> {
        std::iter::once(&self.others).chain(&self.own)
    }

    fn of(&self, tag: Option<Tag>) -> Option<usize> {
        if self.own.is_empty() {
            return None;
        }
        let tag = tag?;
        self.by_tag.get(&tag).or_else(|| self.by_front.get(&tag.front()?)).copied()
    }
}

impl<C: Caller> Caller for Routed<C> {
    fn call(&self, call: Call) -> impl Future<Output = Result<redis::Value, CallError>> + Send {
        let route = self.of(call.keys.first().and_then(|key| tag_of(key)));
        route.map_or(&self.others, |route| &self.own[route]).call(call)
    }

    fn are_neighbours(&self, one: &[u8], other: &[u8]) -> bool {
        let routes = [one, other].map(|tag| self.of(tag.try_into().ok()));
        let caller = routes[0].map_or(&self.others, |route| &self.own[route]);
        routes[0] == routes[1] && caller.are_neighbours(one, other)
    }
}

impl<C: Shards> Shards for Routed<C> {
    fn shards(&self) -> Vec<Shard> {
        let of = |(route, caller): (usize, &C)| {
            let mut shards = caller.shards();
            for shard in &mut shards {
                shard.route = route;
            }
            shards
        };
        self.all().enumerate().flat_map(of).collect()
    }

    /// The one for all others is the first.
    fn route_of(&self, tag: &[u8]) -> usize {
        self.of(tag.try_into().ok()).map_or(0, |route| route + 1)
    }

    fn call_on(
        &self,
        route: usize,
        call: Call,
    ) -> impl Future<Output = Result<redis::Value, CallError>> + Send {
        let own = route.checked_sub(1).and_then(|route| self.own.get(route));
        own.unwrap_or(&self.others).call(call)
    }
}

/// What stands between the braces of a key.
fn tag_of(key: &[u8]) -> Option<Tag> {
    let start = key.iter().position(|byte| *byte == b'{')? + 1;
    let length = key[start..].iter().position(|byte| *byte == b'}')?;
    key[start..start + length].try_into().ok()
}

impl<C: std::fmt::Debug> std::fmt::Debug for Routed<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Routed").field("others", &self.others).field("own", &self.own).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use smallvec::SmallVec;

    use super::*;
    use crate::scripts;

    /// Remembers how often it was called; nothing is on one server with anything else.
    #[derive(Default)]
    struct Called(Mutex<u32>);

    impl Caller for Called {
        async fn call(&self, _call: Call) -> Result<redis::Value, CallError> {
            *self.0.lock().unwrap() += 1;
            Ok(redis::Value::Nil)
        }

        fn are_neighbours(&self, one: &[u8], other: &[u8]) -> bool {
            one == other
        }
    }

    /// How often each caller is called for so many calls of each home.
    async fn called(settings: &Settings, routed: &Routed<Called>, homes: &[(&[&[u8]], u32)]) -> Vec<u32> {
        for (home, times) in homes {
            let key = [b"t:{".as_slice(), &tag(settings, home), b"}whatever"].concat();
            for _ in 0..*times {
                let call = Call::new(&scripts::FETCH, SmallVec::from_iter([key.clone()]), SmallVec::new());
                routed.call(call).await.unwrap();
            }
        }
        routed.all().map(|caller| *caller.0.lock().unwrap()).collect()
    }

    fn tag(settings: &Settings, home: &[&[u8]]) -> Tag {
        Names::of(settings).tag(tidegate_core::EncodedParts::new(home).as_bytes())
    }

    #[tokio::test]
    async fn a_tenants_calls_go_to_its_own_server() {
        let (settings, acme, beta) =
            (Settings::default(), [b"api".as_slice(), b"acme"], [b"api".as_slice(), b"beta"]);
        let mut routed = Routed::new(Called::default());
        routed.route(&settings, [&acme[..]], Called::default());
        assert_eq!(called(&settings, &routed, &[(&acme, 3), (&beta, 2)]).await, [2, 3]);
        let [acme, beta] = [acme, beta].map(|home| tag(&settings, &home));
        assert!(routed.are_neighbours(&acme, &acme));
        assert!(!routed.are_neighbours(&acme, &beta));
        assert!(tag_of(b"t:{members}").is_none());
    }

    #[tokio::test]
    async fn all_of_a_domain_goes_to_its_own_server_but_for_tenants_that_have_another() {
        let settings = Settings { fronts_apart: vec![vec![b"api".to_vec()]], ..Settings::default() };
        let mut routed = Routed::new(Called::default());
        routed.route(&settings, [&[b"api".as_slice()][..]], Called::default());
        routed.route(&settings, [&[b"api".as_slice(), b"acme"][..]], Called::default());
        let homes: [(&[&[u8]], u32); 5] = [
            (&[b"api", b"acme"], 1),
            (&[b"api", b"beta"], 2),
            (&[b"api", b"per-ip", b"10.0.0.1"], 4),
            (&[b"apis", b"acme"], 8),
            (&[b"web", b"api"], 16),
        ];
        assert_eq!(called(&settings, &routed, &homes).await, [24, 6, 1]);
        let [one, other] = [homes[1].0, homes[2].0].map(|home| tag(&settings, home));
        assert_eq!(one[..4], other[..4], "they tell their domain");
        assert_eq!(one.len(), 8);
    }

    #[tokio::test]
    async fn a_tiers_tenants_go_to_its_own_server_but_for_those_that_have_another() {
        let tier: [&[u8]; 4] = [b"", b"api", b"plan", b"pro"];
        let fronts_apart = vec![tier.map(<[u8]>::to_vec).to_vec(), vec![b"api".to_vec()]];
        let settings = Settings { fronts_apart, ..Settings::default() };
        let acme: [&[u8]; 5] = [b"", b"api", b"plan", b"pro", b"acme"];
        let mut routed = Routed::new(Called::default());
        routed.route(&settings, [&tier[..]], Called::default());
        routed.route(&settings, [&[b"api".as_slice()][..]], Called::default());
        routed.route(&settings, [&[b"api".as_slice(), b"acme"][..], &acme[..]], Called::default());
        let homes: [(&[&[u8]], u32); 6] = [
            (&[b"", b"api", b"plan", b"pro", b"beta"], 1),
            (&acme, 2),
            (&[b"api", b"acme"], 4),
            (&[b"api", b"beta"], 8),
            (&[b"", b"api", b"plan", b"free", b"beta"], 16),
            (&[b"", b"api"], 32),
        ];
        assert_eq!(called(&settings, &routed, &homes).await, [48, 1, 8, 6]);
    }
}
