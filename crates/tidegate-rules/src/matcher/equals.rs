//! What is left of most conditions once their pivot is found: attributes that must equal short texts.

use crate::condition::{Condition, Facts, Test};
use crate::name::AttributeId;
use crate::short::Short;

/// Runs of tests, one behind the other. All of a run must hold.
#[derive(Default)]
pub(super) struct Equals(Vec<Equal>);

struct Equal {
    attribute: AttributeId,
    text: Short,
    /// Whether its run ends here.
    is_last: bool,
}

impl Equals {
    /// Adds all parts of a condition but one as a run, and gives its place; `None` if there are no others, or one of them
    /// asks something else.
    pub(super) fn add(&mut self, parts: &[Condition], but: u16) -> Option<u32> {
        let others = parts.iter().enumerate().filter(|(place, _)| *place != usize::from(but));
        let mut run: Vec<Equal> = others.map(|(_, part)| Equal::new(part)).collect::<Option<_>>()?;
        run.last_mut()?.is_last = true;
        let place = u32::try_from(self.0.len()).ok()?;
        self.0.append(&mut run);
        Some(place)
    }

    /// Whether the run at that place holds.
    #[inline]
    pub(super) fn hold(&self, place: u32, facts: &Facts<'_>) -> bool {
        let mut place = place as usize;
        while let Some(equal) = self.0.get(place).filter(|equal| equal.holds(facts)) {
            if equal.is_last {
                return true;
            }
            place += 1;
        }
        false
    }
}

impl Equal {
    fn new(part: &Condition) -> Option<Self> {
        let Condition::Is(attribute, Test::OneOf(texts)) = part else { return None };
        let [text] = &**texts else { return None };
        Some(Self { attribute: *attribute, text: Short::new(text)?, is_last: false })
    }

    #[inline]
    fn holds(&self, facts: &Facts<'_>) -> bool {
        facts.get(self.attribute).and_then(Short::new).is_some_and(|value| value == self.text)
    }
}
