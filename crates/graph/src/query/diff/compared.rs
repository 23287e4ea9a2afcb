//! Lists of risks compared, each pair of them once: thousands of updates carry the same list.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::model::risk::Risk;
use crate::model::versions::id;

/// By their JSON: a risk before and after, and on how many updates.
pub(super) type RewordedRisks<'g> = BTreeMap<(&'g str, &'g str), (&'g Arc<Risk>, &'g Arc<Risk>, usize)>;

/// A list by where it stands: two updates of one group have the same.
type Address = (*const Arc<Risk>, usize);

/// The lists that were met.
#[derive(Default)]
pub(super) struct RiskLists<'g> {
    /// Lists of names by their numbers.
    names: Vec<Vec<&'g str>>,
    numbers: HashMap<Vec<&'g str>, u32>,
    known: HashMap<Address, u32>,
    compared: HashMap<(Address, Address), Compared<'g>>,
}

/// What became of one list of risks on the way to another.
struct Compared<'g> {
    /// The numbers of the names that went and came; none where no name did.
    lost: Option<u32>,
    gained: Option<u32>,
    /// Risks that kept their name and say something else.
    reworded: Vec<(&'g Arc<Risk>, &'g Arc<Risk>)>,
    /// On how many updates.
    updates: usize,
}

fn address(risks: &[Arc<Risk>]) -> Address {
    (risks.as_ptr(), risks.len())
}

impl<'g> RiskLists<'g> {
    /// The number of the names of some risks.
    pub(super) fn names(&mut self, risks: &'g [Arc<Risk>]) -> u32 {
        if let Some(known) = self.known.get(&address(risks)) {
            return *known;
        }
        let number = self.number(risks.iter().map(|risk| risk.name()).collect());
        self.known.insert(address(risks), number);
        number
    }

    fn number(&mut self, names: Vec<&'g str>) -> u32 {
        let next = id(self.names.len());
        let number = *self.numbers.entry(names.clone()).or_insert(next);
        if number == next {
            self.names.push(names);
        }
        number
    }

    /// The numbers of the names that went and came on one update; nothing if its risks are the same.
    pub(super) fn compare(&mut self, old: &'g [Arc<Risk>], new: &'g [Arc<Risk>]) -> Option<(Option<u32>, Option<u32>)> {
        let key = (address(old), address(new));
        if !self.compared.contains_key(&key) {
            let compared = self.compare_lists(old, new);
            self.compared.insert(key, compared);
        }
        let compared = self.compared.get_mut(&key)?;
        if compared.lost.is_none() && compared.gained.is_none() && compared.reworded.is_empty() {
            return None;
        }
        compared.updates += 1;
        Some((compared.lost, compared.gained))
    }

    fn compare_lists(&mut self, old: &'g [Arc<Risk>], new: &'g [Arc<Risk>]) -> Compared<'g> {
        let texts = |risks: &'g [Arc<Risk>]| risks.iter().map(|risk| risk.json()).collect::<HashSet<&str>>();
        let (before, after) = (texts(old), texts(new));
        // Risks that went and came back under the same name were reworded. What is left really went or came.
        let mut came: Vec<Option<&'g Arc<Risk>>> =
            new.iter().map(|risk| Some(risk).filter(|risk| !before.contains(risk.json()))).collect();
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, risk) in came.iter().enumerate().rev() {
            if let Some(risk) = risk {
                places.entry(risk.name()).or_default().push(at);
            }
        }
        let (mut lost, mut reworded) = (Vec::new(), Vec::new());
        for risk in old.iter().filter(|risk| !after.contains(risk.json())) {
            let place = places.get_mut(risk.name()).and_then(Vec::pop);
            match place.and_then(|place| came.get_mut(place)).and_then(Option::take) {
                Some(other) => reworded.push((risk, other)),
                None => lost.push(risk.name()),
            }
        }
        let gained: Vec<&str> = came.into_iter().flatten().map(|risk| risk.name()).collect();
        let mut number = |names: Vec<&'g str>| (!names.is_empty()).then(|| self.number(names));
        Compared { lost: number(lost), gained: number(gained), reworded, updates: 0 }
    }

    /// The lists of names by their numbers, and the risks that say something else.
    pub(super) fn finish(self) -> (Vec<Vec<&'g str>>, RewordedRisks<'g>) {
        let mut reworded: RewordedRisks<'g> = BTreeMap::new();
        for compared in self.compared.into_values() {
            for (old, new) in compared.reworded {
                reworded.entry((old.json(), new.json())).or_insert((old, new, 0)).2 += compared.updates;
            }
        }
        (self.names, reworded)
    }
}
