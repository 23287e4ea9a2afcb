//! The updates that carry a risk, in the whole revision and whatever the channel.

use std::collections::BTreeMap;

use crate::model::revision::{Release, Revision};
use crate::model::verdicts::Ruling;

impl Revision {
    /// How many updates carry each risk, by the name of the risk. An update counts once for each architecture.
    pub fn updates_by_risk(&self) -> BTreeMap<&str, usize> {
        let mut by_set: Vec<usize> = vec![0; self.judged.sets.len()];
        for row in self.table.rows.iter().filter(|row| !matches!(row.ruling, Ruling::PLAIN | Ruling::REMOVED)) {
            by_set.get_mut(row.ruling.set() as usize).into_iter().for_each(|count| *count += 1);
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (set, updates) in self.judged.sets.iter().zip(by_set) {
            let mut names: Vec<&str> = set.iter().map(|risk| risk.name()).collect();
            // A set may have two risks of one name.
            names.dedup();
            for name in names {
                *counts.entry(name).or_default() += updates;
            }
        }
        counts
    }

    /// The updates that carry a risk of a name: source and target, by target and then source.
    pub fn updates_with_risk<'r>(&'r self, name: &str) -> impl Iterator<Item = (&'r Release, &'r Release)> {
        let sets: Vec<bool> = self.judged.sets.iter().map(|set| set.iter().any(|risk| risk.name() == name)).collect();
        let carries = move |ruling: Ruling| {
            !matches!(ruling, Ruling::PLAIN | Ruling::REMOVED)
                && sets.get(ruling.set() as usize).is_some_and(|carries| *carries)
        };
        (0..).zip(&self.releases).flat_map(move |(place, to)| {
            let sources: Vec<u32> =
                self.table.incoming(place).iter().filter(|row| carries(row.ruling)).map(|row| row.from).collect();
            sources.into_iter().filter_map(move |from| Some((self.releases.get(from as usize)?, to)))
        })
    }
}

#[cfg(test)]
mod tests {
    use clearway_core::Limits;

    use crate::{Inputs, load};

    #[test]
    fn updates_are_counted_for_every_risk_on_them() {
        let risk = |name: &str, to: &str, from: &str| {
            format!(
                "name: {name}\nurl: https://example.com\nmessage: m\nmatchingRules: [{{type: Always}}]\nto: {to}\nfrom: '{from}'\n"
            )
        };
        let release = |version: &str, previous: &str| {
            format!(r#"{{"version":"{version}","arch":"amd64","payload":"p","previous":[{previous}]}}"#)
        };
        let releases = [release("1.0.0", ""), release("1.0.1", "\"1.0.0\""), release("1.0.2", "\"1.0.0\",\"1.0.1\"")];
        let (first, second) = (risk("First", "1.0.2", "*"), risk("Second", "1.0.2", "1.0.0"));
        let inputs: Inputs = [
            ("version", "1.1.0\n".to_owned()),
            ("channels/a.yaml", "name: a\nversions: [1.0.0, 1.0.1, 1.0.2]\n".to_owned()),
            ("releases/r.json", format!("[{}]", releases.join(","))),
            ("risks/First.yaml", first),
            ("risks/Second.yaml", second),
        ]
        .into_iter()
        .collect();
        let revision = load(&inputs, &Limits::default()).revision.unwrap();
        assert_eq!(revision.updates_by_risk().into_iter().collect::<Vec<_>>(), [("First", 2), ("Second", 1)]);
        let found = |name: &str| -> Vec<(String, String)> {
            let text = |release: &crate::Release| release.node.version().to_string();
            revision.updates_with_risk(name).map(|(from, to)| (text(from), text(to))).collect()
        };
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(found("First"), [pair("1.0.0", "1.0.2"), pair("1.0.1", "1.0.2")]);
        assert_eq!(found("Second"), [pair("1.0.0", "1.0.2")]);
        assert_eq!(found("Third"), []);
    }
}
