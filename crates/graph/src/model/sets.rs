//! Sets of risks by their numbers: equal ones have one number, and a risk that stands in many is kept once.
//!
//! An answer may put thousands of risks on each of thousands of updates. So an update names a set, and never has a list
//! of its own.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::risk::Risk;
use crate::model::versions::id;

/// The different sets of some risks.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    risks: Vec<Arc<Risk>>,
    /// The numbers of the risks in each set, in increasing order and each once.
    members: Vec<Arc<[u32]>>,
    by_json: HashMap<Arc<str>, u32>,
    by_address: HashMap<*const Risk, u32>,
    numbers: HashMap<Arc<[u32]>, u32>,
    /// What sets of sets were put together to.
    united: HashMap<Vec<u32>, u32>,
}

impl Sets {
    /// The number of a risk; equal ones have the same.
    pub(crate) fn risk(&mut self, risk: &Arc<Risk>) -> u32 {
        if let Some(known) = self.by_address.get(&Arc::as_ptr(risk)) {
            return *known;
        }
        let next = id(self.risks.len());
        let number = self.by_json.get(risk.json()).copied().unwrap_or(next);
        if number == next {
            self.by_json.insert(risk.json().into(), next);
            self.risks.push(Arc::clone(risk));
        }
        // An address means something only as long as the risk is kept.
        if self.risks.get(number as usize).is_some_and(|kept| Arc::ptr_eq(kept, risk)) {
            self.by_address.insert(Arc::as_ptr(risk), number);
        }
        number
    }

    /// The number of the set of some risks.
    pub(crate) fn add(&mut self, risks: &[Arc<Risk>]) -> u32 {
        let numbers = risks.iter().map(|risk| self.risk(risk)).collect();
        self.of_numbers(numbers)
    }

    /// The number of the set of some risks by their numbers.
    pub(crate) fn of_numbers(&mut self, mut numbers: Vec<u32>) -> u32 {
        numbers.sort_unstable();
        numbers.dedup();
        if let Some(known) = self.numbers.get(numbers.as_slice()) {
            return *known;
        }
        let (set, next): (Arc<[u32]>, _) = (numbers.into(), id(self.members.len()));
        self.numbers.insert(Arc::clone(&set), next);
        self.members.push(set);
        next
    }

    fn numbers(&self, set: u32) -> &[u32] {
        self.members.get(set as usize).map_or(&[], |numbers| numbers)
    }

    pub(crate) fn is_empty(&self, set: u32) -> bool {
        self.numbers(set).is_empty()
    }

    /// The set of everything in some sets. `left` is how many risks may still be put together; nothing if they are more.
    pub(crate) fn unite(&mut self, sets: impl Iterator<Item = u32>, left: &mut usize) -> Option<u32> {
        let sets: Vec<u32> = sets.collect();
        if let Some(known) = self.united.get(&sets) {
            return Some(*known);
        }
        let count = sets.iter().map(|set| self.numbers(*set).len()).fold(sets.len(), usize::saturating_add);
        *left = left.checked_sub(count)?;
        let all = sets.iter().flat_map(|set| self.numbers(*set).iter().copied()).collect();
        let united = self.of_numbers(all);
        self.united.insert(sets, united);
        Some(united)
    }

    /// The risks of a set, in their order.
    pub(crate) fn risks(&self, set: u32) -> Arc<[Arc<Risk>]> {
        let numbers = self.numbers(set).iter();
        let mut risks: Vec<_> = numbers.filter_map(|risk| self.risks.get(*risk as usize).cloned()).collect();
        risks.sort_by(|one, other| one.order(other));
        risks.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risk(name: &str) -> Arc<Risk> {
        Arc::new(Risk::new(name, "u", "m", Vec::new()))
    }

    #[test]
    fn equal_sets_have_one_number_and_are_put_together_within_a_bound() {
        let mut sets = Sets::default();
        let (a, b) = (risk("A"), risk("B"));
        let both = sets.add(&[Arc::clone(&b), Arc::clone(&a)]);
        assert_eq!(sets.add(&[risk("A"), b, risk("A")]), both);
        let names = |sets: &Sets, set| sets.risks(set).iter().map(|risk| risk.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&sets, both), ["A", "B"]);
        let (none, one) = (sets.add(&[]), sets.add(&[risk("C")]));
        assert!(sets.is_empty(none) && !sets.is_empty(one));
        let mut left = 5;
        let united = sets.unite([both, one].into_iter(), &mut left).unwrap();
        assert_eq!((names(&sets, united), left), (vec!["A".to_owned(), "B".to_owned(), "C".to_owned()], 0));
        assert_eq!(sets.unite([both, one].into_iter(), &mut left), Some(united), "it is known");
        assert_eq!(sets.unite([one, none].into_iter(), &mut left), None);
    }
}
