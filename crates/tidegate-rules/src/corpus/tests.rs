use smallvec::SmallVec;

use super::*;
use crate::matcher::Matcher;

fn check(rules: &[Condition], requests: &[Request]) -> Vec<usize> {
    let matcher = Matcher::new(rules.to_vec());
    let mut found = SmallVec::new();
    let count = |request: &Request| {
        let facts = request.facts();
        matcher.matches(&facts, &mut found);
        let holding = (0..).zip(rules).filter(|(_, rule)| rule.holds(&facts)).map(|(number, _)| number);
        assert_eq!(found.to_vec(), holding.collect::<Vec<u32>>());
        found.len()
    };
    requests.iter().map(count).collect()
}

#[test]
fn every_request_matches_a_rule_of_the_smallest_corpus_and_few_of_the_largest() {
    let requests = requests(64);
    let (few, many) = (check(&rules(10), &requests), check(&rules(10_000), &requests));
    assert!(few.iter().all(|found| *found >= 1));
    assert!(many.iter().zip(&few).all(|(many, few)| (*few..few + 8).contains(many)), "{many:?} of {few:?}");
}

#[test]
fn strangers_match_as_many_of_the_largest_corpus_as_of_the_smallest() {
    let requests = strangers(64);
    assert_eq!(check(&rules(10), &requests), check(&rules(10_000), &requests));
}

#[test]
fn worst_cases_are_what_they_say() {
    let requests = requests(4);
    assert!(check(&negations(100), &requests).iter().all(|found| *found >= 99));
    assert_eq!(check(&vain_negations(100), &requests), [0; 4]);
    assert_eq!(check(&prefixes(100), &requests), [100; 4]);
    check(&expressions(100), &requests);
    assert_eq!(Matcher::new(negations(100)).always_asked(), 100);
    assert_eq!(Matcher::new(vain_negations(100)).always_asked(), 100);
}
