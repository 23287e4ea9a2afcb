//! Patterns compared by the texts they accept: whether every text of one is a text of the other.
//!
//! A pattern in Go's dialect becomes an automaton of bounded size, and two automata are walked side by side over pairs of
//! their states. Whatever is too large for the bounds, or cannot be translated, is undecided and never equal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use clearway_schema::{GoPattern, excerpt};
use regex_automata::dfa::{Automaton as _, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::primitives::StateID;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

/// Bytes of the automaton of one pattern, and of what is needed to build it.
const AUTOMATON_BYTES: usize = 1 << 20;
/// Bytes of the automata of all patterns of two bundles. One that was too large counts as the largest.
const ALL_AUTOMATA_BYTES: usize = 32 << 20;
/// Pairs of states that are looked at in one comparison, and in all of them.
const PAIRS: usize = 50_000;
const ALL_PAIRS: usize = 2_000_000;
/// Bytes of one pattern. Longer ones are not compared.
const PATTERN_BYTES: usize = 16 << 10;

/// Whether one pattern accepts every text that another one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inclusion {
    /// It does.
    Included,
    /// It does not: it refuses this text.
    Excluded(String),
    /// It cannot be said, for this reason.
    Undecided(&'static str),
}

/// What a text is compared with.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Texts {
    /// Every text in which this pattern in Go's dialect finds a match, as in a schema.
    Matching(String),
    /// These texts.
    These(Vec<String>),
}

/// Compares patterns, and remembers the results: bundles repeat the same pattern in many fields.
#[derive(Debug, Default)]
pub struct PatternComparer {
    automata: BTreeMap<Texts, Result<Automaton, &'static str>>,
    results: BTreeMap<(Texts, Texts), Inclusion>,
    automata_bytes: usize,
    pairs: usize,
}

impl PatternComparer {
    /// Whether `wide` has every text of `narrow`.
    pub fn includes(&mut self, wide: &Texts, narrow: &Texts) -> Inclusion {
        if wide == narrow {
            return Inclusion::Included;
        }
        let key = (wide.clone(), narrow.clone());
        if let Some(known) = self.results.get(&key) {
            return known.clone();
        }
        for texts in [wide, narrow] {
            if self.automata_bytes > ALL_AUTOMATA_BYTES || self.pairs > ALL_PAIRS {
                return Inclusion::Undecided("the bundles have too many patterns that are hard to compare");
            }
            if !self.automata.contains_key(texts) {
                let built = Automaton::build(texts);
                let bytes = built.as_ref().map_or(AUTOMATON_BYTES, |automaton| automaton.dfa.memory_usage());
                self.automata_bytes = self.automata_bytes.saturating_add(bytes);
                self.automata.insert(texts.clone(), built);
            }
        }
        let result = match (self.automata.get(wide), self.automata.get(narrow)) {
            (Some(Ok(wide)), Some(Ok(narrow))) => {
                let (result, pairs) = wide.includes(narrow);
                self.pairs = self.pairs.saturating_add(pairs);
                result
            }
            (Some(Err(why)), _) | (_, Some(Err(why))) => Inclusion::Undecided(why),
            (None, _) | (_, None) => Inclusion::Undecided("the pattern was not read"),
        };
        self.results.insert(key, result.clone());
        result
    }
}

#[derive(Debug)]
struct Automaton {
    dfa: dense::DFA<Vec<u32>>,
    start: StateID,
}

impl Automaton {
    fn build(texts: &Texts) -> Result<Self, &'static str> {
        let pattern = match texts {
            Texts::Matching(pattern) if pattern.len() > PATTERN_BYTES => return Err("the pattern is too long"),
            Texts::Matching(pattern) => {
                let translated = GoPattern::translate(pattern).map_err(|_| "the pattern is not valid in Go")?;
                // A pattern may match anywhere in a text; with this it has to match the whole text.
                format!("(?s:.*)(?:{})(?s:.*)", translated.rust)
            }
            Texts::These(texts) if texts.is_empty() => "[a&&b]".to_owned(),
            Texts::These(texts) => {
                let words: Vec<String> = texts.iter().map(|text| escape(text)).collect();
                words.join("|")
            }
        };
        if pattern.len() > 8 * PATTERN_BYTES {
            return Err("the pattern is too long");
        }
        let config = dense::Config::new()
            .match_kind(MatchKind::All)
            .start_kind(StartKind::Anchored)
            .accelerate(false)
            .dfa_size_limit(Some(AUTOMATON_BYTES))
            .determinize_size_limit(Some(AUTOMATON_BYTES));
        let nfa =
            thompson::Config::new().nfa_size_limit(Some(AUTOMATON_BYTES)).which_captures(thompson::WhichCaptures::None);
        let dfa = dense::Builder::new()
            .configure(config)
            .syntax(syntax::Config::new().utf8(false).nest_limit(100))
            .thompson(nfa)
            .build(&pattern)
            .map_err(|error| {
                let too_large = error.is_size_limit_exceeded();
                if too_large { "the automaton of the pattern is too large" } else { "the pattern is not supported" }
            })?;
        let input = Input::new("").anchored(Anchored::Yes);
        let start = dfa.start_state_forward(&input).map_err(|_| "the pattern is not supported")?;
        Ok(Automaton { dfa, start })
    }

    fn accepts_at(&self, state: StateID) -> bool {
        self.dfa.is_match_state(self.dfa.next_eoi_state(state))
    }

    /// Searches for the shortest text that `narrow` accepts and `self` does not; and how many pairs that took.
    fn includes(&self, narrow: &Automaton) -> (Inclusion, usize) {
        let start = (narrow.start, self.start);
        let mut seen = BTreeSet::from([start]);
        // How each pair was reached: the index of the pair before, and the byte.
        let mut steps = vec![(start, 0_usize, 0_u8)];
        let mut queue = VecDeque::from([0_usize]);
        while let Some(at) = queue.pop_front() {
            let Some(&((one, two), ..)) = steps.get(at) else { break };
            if narrow.accepts_at(one) && !self.accepts_at(two) {
                return (Inclusion::Excluded(excerpt(&text_to(&steps, at))), steps.len());
            }
            for byte in readable_bytes() {
                let next = (narrow.dfa.next_state(one, byte), self.dfa.next_state(two, byte));
                if narrow.dfa.is_quit_state(next.0) || self.dfa.is_quit_state(next.1) {
                    return (Inclusion::Undecided("the pattern is not supported"), steps.len());
                }
                if !narrow.dfa.is_dead_state(next.0) && seen.insert(next) {
                    if steps.len() >= PAIRS {
                        return (Inclusion::Undecided("the patterns are too large to compare"), steps.len());
                    }
                    queue.push_back(steps.len());
                    steps.push((next, at, byte));
                }
            }
        }
        (Inclusion::Included, steps.len())
    }
}

/// All bytes, those first that make an example easy to read.
fn readable_bytes() -> impl Iterator<Item = u8> {
    let letters = b'a'..=b'z';
    let digits = b'0'..=b'9';
    let others = (b' '..=b'~').filter(|byte| !byte.is_ascii_lowercase() && !byte.is_ascii_digit());
    let rest = (0..=255_u8).filter(|byte| !(b' '..=b'~').contains(byte));
    letters.chain(digits).chain(others).chain(rest)
}

/// The text that leads to a pair.
fn text_to(steps: &[((StateID, StateID), usize, u8)], mut at: usize) -> String {
    let mut bytes = Vec::new();
    while at > 0 {
        let Some(&(_, before, byte)) = steps.get(at) else { break };
        bytes.push(byte);
        at = before;
    }
    bytes.reverse();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The pattern of one text.
fn escape(text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        if char.is_ascii_alphanumeric() {
            out.push(char);
        } else {
            _ = write!(out, "\\x{{{:x}}}", u32::from(char));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(pattern: &str) -> Texts {
        Texts::Matching(pattern.to_owned())
    }

    #[test]
    fn r18_inclusion_of_patterns_is_decided_with_an_example() {
        let mut comparer = PatternComparer::default();
        for (wide, narrow, want) in [
            ("^[a-z]+$", "^[a-c]+$", Inclusion::Included),
            ("^[a-c]+$", "^[a-z]+$", Inclusion::Excluded("d".to_owned())),
            // Without anchors a pattern matches anywhere.
            ("a", "^ba$", Inclusion::Included),
            ("^a", "a", Inclusion::Excluded("ba".to_owned())),
            ("", "^x*$", Inclusion::Included),
            ("^(a|b)*$", "^[ab]{0,7}$", Inclusion::Included),
            (r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", r"^[a-z]([-a-z0-9]*[a-z0-9])?$", Inclusion::Included),
            (r"^\d+$", r"^[0-9]+$", Inclusion::Included),
            ("^é$", "^[éè]$", Inclusion::Excluded("è".to_owned())),
            ("^.$", "^é$", Inclusion::Included),
            ("a(?=b)", "a", Inclusion::Undecided("the pattern is not valid in Go")),
        ] {
            assert_eq!(comparer.includes(&matching(wide), &matching(narrow)), want, "{narrow} in {wide}");
        }
    }

    #[test]
    fn r13_words_are_compared_with_patterns() {
        let mut comparer = PatternComparer::default();
        let words = Texts::These(vec!["System".to_owned(), "a.b/c-d".to_owned()]);
        assert_eq!(comparer.includes(&matching("^[A-Za-z./-]+$"), &words), Inclusion::Included);
        assert_eq!(comparer.includes(&matching("^[A-Z]"), &words), Inclusion::Excluded("a.b/c-d".to_owned()));
        assert_eq!(comparer.includes(&words, &matching("^System$")), Inclusion::Included);
        assert_eq!(comparer.includes(&Texts::These(Vec::new()), &words), Inclusion::Excluded("System".to_owned()));
    }

    #[test]
    fn hostile_patterns_are_undecided_within_bounds() {
        let mut comparer = PatternComparer::default();
        let exponential = format!("^(a|b)*a{}$", "(a|b)".repeat(40));
        let deep = format!("{}a{}", "(".repeat(900), ")".repeat(900));
        let long = "a".repeat(100_000);
        for hostile in [&exponential, &deep, &long, "((a{1,30}){1,30}){1,1}b{900}", r"^(\p{L}{1,500})+$"] {
            let result = comparer.includes(&matching("^x$"), &matching(hostile));
            assert!(!matches!(result, Inclusion::Included), "{}", excerpt(hostile));
        }
    }
}
