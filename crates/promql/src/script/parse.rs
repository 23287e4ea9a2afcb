//! Reads a script into commands.

use super::notation::{self, Values};
use crate::eval::Level;
use crate::matching::Pattern;
use crate::series::Labels;
use crate::syntax::duration::Millis;
use crate::syntax::strings::unquote;

/// What makes a text no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ScriptError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// A command of a script.
#[derive(Debug, Clone)]
pub(super) enum Command {
    Clear,
    Load(Load),
    Eval(Box<Eval>),
}

/// Series to add.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) line: usize,
    pub(super) step: i64,
    /// Whether classic histograms become native ones as well.
    pub(super) with_native: bool,
    pub(super) series: Vec<(Labels, Values)>,
}

/// What a query is to give.
#[derive(Debug, Clone)]
pub(super) struct Eval {
    pub(super) line: usize,
    pub(super) query: String,
    pub(super) when: When,
    pub(super) ordered: bool,
    pub(super) fails: Option<Words>,
    /// Remarks that must be there, and no others of their level.
    pub(super) remarks: Vec<(Level, Words)>,
    /// Levels of which there must be no remark.
    pub(super) silent: Vec<Level>,
    /// Levels of which there must be a remark, whatever else there is.
    pub(super) some: Vec<Level>,
    pub(super) expected: Expected,
}

impl Eval {
    /// The series that are expected.
    fn rows(&self) -> &[(Labels, Values)] {
        match &self.expected {
            Expected::Series { rows, .. } => rows,
            Expected::Scalar(_) | Expected::String(_) => &[],
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    Instant(i64),
    Range { start: i64, end: i64, step: i64 },
}

/// What a message says.
#[derive(Debug, Clone)]
pub(super) enum Words {
    Any,
    Exactly(String),
    Matching(Pattern),
}

impl Words {
    pub(super) fn fit(&self, message: &str) -> bool {
        match self {
            Words::Any => true,
            Words::Exactly(words) => words == message,
            Words::Matching(pattern) => pattern.matches(message),
        }
    }
}

/// The expected value.
#[derive(Debug, Clone)]
pub(super) enum Expected {
    Series {
        rows: Vec<(Labels, Values)>,
        /// From when and in which steps the values are, for an instant query of a range vector.
        grid: Option<(i64, i64)>,
    },
    Scalar(f64),
    String(String),
}

type Parsed<T> = Result<T, String>;

/// More values than this in all lines together are refused: `x` makes many of few letters.
const MOST_VALUES: usize = 2_000_000;

/// Bytes of a script; those of Prometheus have up to 100,000. A line takes up to a few hundred times its bytes as a command.
pub const SCRIPT_BYTES: usize = 4 << 20;

/// The lines of a script, and the end of the block that was looked at last: a block may have as many commands as lines.
struct Blocks<'l, 't> {
    lines: &'l [&'t str],
    end: usize,
    /// Lines that were looked at to find ends.
    #[cfg(test)]
    looked_at: usize,
}

impl<'l, 't> Blocks<'l, 't> {
    fn new(lines: &'l [&'t str]) -> Self {
        Blocks {
            lines,
            end: 0,
            #[cfg(test)]
            looked_at: 0,
        }
    }

    /// The lines from one on up to the next blank one. The lines are asked for in increasing order.
    fn from(&mut self, line: usize) -> &'l [&'t str] {
        if line >= self.end {
            let rest = self.lines.get(line..).unwrap_or_default();
            let count = rest.iter().take_while(|line| !line.is_empty()).count();
            self.end = line.saturating_add(count);
            #[cfg(test)]
            {
                self.looked_at += count + 1;
            }
        }
        self.lines.get(line..self.end).unwrap_or_default()
    }
}

/// Reads a script.
pub(super) fn parse(text: &str) -> Result<Vec<Command>, ScriptError> {
    if text.len() > SCRIPT_BYTES {
        return Err(ScriptError { line: 1, message: format!("The script has more than {SCRIPT_BYTES} bytes.") });
    }
    let lines: Vec<&str> =
        text.lines().map(str::trim).map(|line| if line.starts_with('#') { "" } else { line }).collect();
    let mut blocks = Blocks::new(&lines);
    let mut commands = Vec::new();
    let mut at = 0;
    let mut values: usize = 0;
    while let Some(line) = lines.get(at) {
        let number = at.saturating_add(1);
        let wrong = |message| ScriptError { line: number, message };
        let block = blocks.from(number);
        let word = line.split(char::is_whitespace).next().unwrap_or_default().to_ascii_lowercase();
        let (command, used) = match word.as_str() {
            "" => {
                at = number;
                continue;
            }
            "clear" => (Command::Clear, 0),
            _ if word.starts_with("load") => (Command::Load(load(number, line, block)?), block.len()),
            _ if word.starts_with("eval") => {
                let (eval, used) = eval(number, line, block)?;
                (Command::Eval(Box::new(eval)), used)
            }
            _ => return Err(wrong(format!("`{line}` is not a command; use load, eval or clear."))),
        };
        values = values.saturating_add(match &command {
            Command::Clear => 0,
            Command::Load(load) => load.series.iter().map(|(_, values)| values.len()).sum(),
            Command::Eval(eval) => match &eval.expected {
                Expected::Series { rows, .. } => rows.iter().map(|(_, values)| values.len()).sum(),
                Expected::Scalar(_) | Expected::String(_) => 1,
            },
        });
        if values > MOST_VALUES {
            return Err(wrong(format!("The script has more than {MOST_VALUES} values.")));
        }
        commands.push(command);
        at = number.saturating_add(used);
    }
    Ok(commands)
}

/// The lines of a block with their numbers; `above` is that of the command.
fn numbered<'b>(above: usize, block: &'b [&'b str]) -> impl Iterator<Item = (usize, &'b str)> {
    block.iter().enumerate().map(move |(index, line)| (above.saturating_add(1).saturating_add(index), *line))
}

fn load(number: usize, line: &str, block: &[&str]) -> Result<Load, ScriptError> {
    let wrong = |line, message| ScriptError { line, message };
    let (word, step) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let with_native = match word {
        "load" => false,
        "load_with_nhcb" => true,
        _ => return Err(wrong(number, format!("`{word}` is not a command; write `load STEP`."))),
    };
    let step = duration(step.trim()).map_err(|message| wrong(number, message))?;
    let mut series = Vec::with_capacity(block.len());
    let mut values: usize = 0;
    for (number, line) in numbered(number, block) {
        if line.split(char::is_whitespace).next().is_some_and(|word| word.ends_with("@st")) {
            return Err(wrong(number, "Start timestamps (`@st`) are not supported.".to_owned()));
        }
        let found = notation::series(line).map_err(|message| wrong(number, message))?;
        values = values.saturating_add(found.1.len());
        if values > MOST_VALUES {
            return Err(wrong(number, format!("The script has more than {MOST_VALUES} values.")));
        }
        series.push(found);
    }
    Ok(Load { line: number, step, with_native, series })
}

/// A time since the epoch, or a step.
fn duration(text: &str) -> Parsed<i64> {
    if text == "0" {
        return Ok(0);
    }
    Millis::parse(text).map(|millis| millis.0).map_err(|_| format!("`{text}` is not a duration such as `5m`."))
}

/// The first word of a text, and the rest.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))
}

/// What follows a word that must stand here.
fn after<'t>(text: &'t str, wanted: &str) -> Parsed<&'t str> {
    match word(text) {
        (found, rest) if found == wanted => Ok(rest),
        (found, _) => Err(format!("Expected `{wanted}`, found `{found}`.")),
    }
}

fn timed(text: &str) -> Parsed<(i64, &str)> {
    let (found, rest) = word(text);
    Ok((duration(found)?, rest))
}

/// `from T to T step T`, and what follows.
fn grid(text: &str) -> Parsed<(i64, i64, i64, &str)> {
    let (start, text) = timed(after(text, "from")?)?;
    let (end, text) = timed(after(text, "to")?)?;
    let (step, text) = timed(after(text, "step")?)?;
    if end < start || step <= 0 {
        return Err("The range ends before it starts, or has no step.".to_owned());
    }
    Ok((start, end, step, text))
}

/// The head of an `eval`: what its suffix says, when it is, and the query.
fn head(line: &str) -> Parsed<(&str, When, &str)> {
    let (command, rest) = word(line);
    let suffix = command.strip_prefix("eval").unwrap_or_default();
    let (kind, rest) = word(rest);
    let (when, query) = match kind {
        "instant" => {
            let (time, query) = timed(after(rest, "at")?)?;
            (When::Instant(time), query)
        }
        "range" => {
            let (start, end, step, query) = grid(rest)?;
            (When::Range { start, end, step }, query)
        }
        _ => {
            return Err(
                "Write `eval instant at TIME QUERY` or `eval range from TIME to TIME step STEP QUERY`.".to_owned()
            );
        }
    };
    if query.is_empty() {
        return Err("The query is missing.".to_owned());
    }
    Ok((suffix, when, query))
}

/// Reads an `eval` with its block, and says how many lines of that belong to it.
fn eval(number: usize, line: &str, block: &[&str]) -> Result<(Eval, usize), ScriptError> {
    let wrong = |line, message| ScriptError { line, message };
    let (suffix, when, query) = head(line).map_err(|message| wrong(number, message))?;
    let mut eval = Eval {
        line: number,
        query: query.to_owned(),
        when,
        ordered: suffix == "_ordered",
        fails: (suffix == "_fail").then_some(Words::Any),
        remarks: Vec::new(),
        silent: Vec::new(),
        some: Vec::new(),
        expected: Expected::Series { rows: Vec::new(), grid: None },
    };
    match suffix {
        "" | "_ordered" | "_fail" => {}
        "_warn" => eval.some.push(Level::Warning),
        "_info" => eval.some.push(Level::Info),
        _ => return Err(wrong(number, format!("There is no command `eval{suffix}`."))),
    }
    let (mut used, mut values): (usize, usize) = (0, 0);
    for (number, line) in numbered(number, block) {
        used = used.saturating_add(1);
        let before = eval.rows().len();
        let ends = expectation(&mut eval, line).map_err(|message| wrong(number, message))?;
        // A line adds one row at most.
        if let Some((_, row)) = eval.rows().get(before..).and_then(<[_]>::first) {
            values = values.saturating_add(row.len());
        }
        if values > MOST_VALUES {
            return Err(wrong(number, format!("The script has more than {MOST_VALUES} values.")));
        }
        if ends {
            break;
        }
    }
    Ok((eval, used))
}

/// Reads one line below an `eval`. Says whether it is the last one.
fn expectation(eval: &mut Eval, line: &str) -> Parsed<bool> {
    if eval.fails.is_some() {
        for (prefix, exact) in [("expected_fail_message", true), ("expected_fail_regexp", false)] {
            if let Some(rest) = line.strip_prefix(prefix) {
                eval.fails = Some(words(rest.trim(), exact)?);
                return Ok(true);
            }
        }
    }
    let (first, rest) = word(line);
    if first == "expect" {
        expect(eval, rest)?;
        return Ok(false);
    }
    if let Some(number) = notation::number(line) {
        eval.expected = Expected::Scalar(number);
        return Ok(true);
    }
    let (labels, values) = notation::series(line)?;
    match &mut eval.expected {
        Expected::Series { rows, .. } => rows.push((labels, values)),
        other => *other = Expected::Series { rows: vec![(labels, values)], grid: None },
    }
    Ok(false)
}

fn words(text: &str, exact: bool) -> Parsed<Words> {
    if exact {
        return Ok(Words::Exactly(text.to_owned()));
    }
    // The expression is searched for, not matched as a whole.
    Pattern::new(&format!("(?:.*?)(?:{text})(?:.*)"), 1 << 20).map(Words::Matching).map_err(|error| error.to_string())
}

fn expect(eval: &mut Eval, text: &str) -> Parsed<()> {
    let (kind, rest) = word(text);
    match kind {
        "string" => {
            let mut chars = rest.chars();
            let (Some(open), Some(close)) = (chars.next(), chars.next_back()) else {
                return Err("A quoted string is missing.".to_owned());
            };
            if open != close || !matches!(open, '"' | '`') {
                return Err("The string is not quoted.".to_owned());
            }
            let body = unquote(chars.as_str(), open).map_err(|_| "The string is not quoted correctly.".to_owned())?;
            eval.expected = Expected::String(body);
            return Ok(());
        }
        "range" => {
            let (start, _, step, _) = grid(after(rest, "vector")?)?;
            eval.expected = Expected::Series { rows: Vec::new(), grid: Some((start, step)) };
            return Ok(());
        }
        _ => {}
    }
    let said = match (rest.strip_prefix("msg:"), rest.strip_prefix("regex:")) {
        (Some(message), _) => words(message.trim(), true)?,
        (_, Some(pattern)) => words(pattern.trim(), false)?,
        _ if rest.is_empty() => Words::Any,
        _ => return Err(format!("Expected `msg:` or `regex:`, found `{rest}`.")),
    };
    match kind {
        "ordered" => eval.ordered = true,
        "fail" => eval.fails = Some(said),
        "warn" => eval.remarks.push((Level::Warning, said)),
        "info" => eval.remarks.push((Level::Info, said)),
        "no_warn" => eval.silent.push(Level::Warning),
        "no_info" => eval.silent.push(Level::Info),
        _ => return Err(format!("There is no expectation `{kind}`.")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_looked_at_once_for_the_end_of_its_block() {
        let text = ["eval", "x", "y", "", "eval", "", "", "a", "b", "c"];
        let mut blocks = Blocks::new(&text);
        let want: Vec<&[&str]> = (0..text.len())
            .map(|line| {
                let end = text[line..].iter().position(|line| line.is_empty()).map_or(text.len(), |at| line + at);
                &text[line..end]
            })
            .collect();
        let found: Vec<&[&str]> = (0..text.len()).map(|line| blocks.from(line)).collect();
        assert_eq!(found, want);
        assert!(blocks.from(text.len()).is_empty() && blocks.from(text.len() + 1).is_empty());
        // A block whose lines are commands, each of which may have the rest of it.
        let many = vec!["eval instant at 0 1"; 100_000];
        let mut blocks = Blocks::new(&many);
        assert_eq!((1..=many.len()).map(|line| blocks.from(line).len()).max(), Some(many.len() - 1));
        assert!(blocks.looked_at <= many.len() + 1, "{}", blocks.looked_at);
    }

    #[test]
    fn commands_and_rows_of_one_block_are_read_in_the_time_of_their_number() {
        // Each of these took the square of their number: this ends at once, or not at all.
        let many = 100_000;
        let commands = parse(&"eval instant at 0 1\n1\n".repeat(many)).unwrap();
        assert_eq!(commands.len(), many);
        assert!(matches!(commands.last(), Some(Command::Eval(eval)) if eval.line == 2 * many - 1));
        let commands = parse(&format!("eval instant at 0 a\n{}", "a 1\n".repeat(many))).unwrap();
        assert!(matches!(commands.as_slice(), [Command::Eval(eval)] if eval.rows().len() == many));
    }

    #[test]
    fn a_script_above_its_caps_is_refused() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(error(&"\n".repeat(SCRIPT_BYTES + 1)), "line 1: The script has more than 4194304 bytes.");
        assert!(parse(&"\n".repeat(SCRIPT_BYTES)).unwrap().is_empty());
        let rows = "a 1x9999\n".repeat(MOST_VALUES / 10_000 + 1);
        for (command, line) in [("load 1m", 202), ("eval instant at 0 a", 202)] {
            let want = format!("line {line}: The script has more than {MOST_VALUES} values.");
            assert_eq!(error(&format!("{command}\n{rows}")), want);
        }
    }
}
