//! What a page of the documentation says: its blocks of command lines with their outputs, its links and its headings.

use std::collections::BTreeSet;

use crate::browser_block::{BrowserBlock, Step};

/// A page, as far as it can be executed.
pub(crate) struct Page {
    pub(crate) blocks: Vec<Block>,
}

/// A code block that is executed.
pub(crate) enum Block {
    Console(ConsoleBlock),
    Browser(BrowserBlock),
}

/// A code block of the language `console`.
pub(crate) struct ConsoleBlock {
    pub(crate) cluster: bool,
    /// Whether that has controllers and a node.
    pub(crate) controllers: bool,
    pub(crate) background: bool,
    pub(crate) commands: Vec<Command>,
}

/// A command line, and what the page shows below it.
pub(crate) struct Command {
    /// The number of its line in the page, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// From a comment `exit code N`; 0 without one.
    pub(crate) exit_code: i32,
    /// Empty if the page shows nothing: then any output is accepted.
    pub(crate) output: Vec<String>,
}

impl Page {
    pub(crate) fn parse(name: &str, text: &str) -> Self {
        let mut blocks = Vec::new();
        let mut block: Option<Block> = None;
        let mut in_other_block = false;
        for (index, line) in text.lines().enumerate() {
            if let Some(language) = line.strip_prefix("```") {
                if let Some(ended) = block.take() {
                    blocks.push(ended);
                } else if in_other_block {
                    in_other_block = false;
                } else {
                    block = Block::start(&format!("{name}:{}", index + 1), language);
                    in_other_block = block.is_none();
                }
            } else if let Some(block) = &mut block {
                block.read_line(&format!("{name}:{}", index + 1), index + 1, line);
            } else if !in_other_block
                && let (Some(Block::Browser(last)), Some(picture)) = (blocks.last_mut(), picture(line))
            {
                last.picture.get_or_insert(picture);
            }
        }
        assert!(block.is_none() && !in_other_block, "{name}: a code block does not end");
        Self { blocks }
    }

    /// Blocks of command lines.
    pub(crate) fn console_blocks(&self) -> impl Iterator<Item = &ConsoleBlock> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Console(block) => Some(block),
            Block::Browser(_) => None,
        })
    }

    /// Whether any of it needs a browser.
    pub(crate) fn has_browser_blocks(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Browser(_)))
    }

    /// Whether a command names this host.
    pub(crate) fn mentions(&self, host: &str) -> bool {
        self.console_blocks().flat_map(|block| &block.commands).any(|command| command.text.contains(host))
    }

    /// The addresses of this machine that commands name, such as `127.0.0.1:8080`.
    pub(crate) fn local_addresses(&self) -> BTreeSet<String> {
        let texts = self.console_blocks().flat_map(|block| &block.commands).map(|command| command.text.as_str());
        texts.flat_map(local_addresses).collect()
    }
}

impl Block {
    /// Nothing for a language that is not executed. `place` is where the block begins.
    fn start(place: &str, language: &str) -> Option<Self> {
        let mut words = language.split_whitespace();
        match words.next() {
            Some("console") => {
                let words: BTreeSet<_> = words.collect();
                let unknown: Vec<_> =
                    words.iter().filter(|word| !["cluster", "controllers", "background"].contains(word)).collect();
                assert!(unknown.is_empty(), "{place}: unknown words {unknown:?}; main.rs has those that exist");
                let [cluster, controllers, background] =
                    ["cluster", "controllers", "background"].map(|word| words.contains(word));
                Some(Block::Console(ConsoleBlock { cluster, controllers, background, commands: Vec::new() }))
            }
            Some("browser") => Some(Block::Browser(BrowserBlock::default())),
            _ => None,
        }
    }

    fn read_line(&mut self, place: &str, number: usize, line: &str) {
        match self {
            Block::Console(block) => block.read_line(place, number, line),
            Block::Browser(block) => {
                let step = Step::parse(line);
                let step = step.unwrap_or_else(|| panic!("{place}: `{line}` is no step; main.rs has those that exist"));
                block.steps.push((number, step));
            }
        }
    }
}

impl ConsoleBlock {
    fn read_line(&mut self, place: &str, number: usize, line: &str) {
        let in_file = self.commands.last().is_some_and(Command::has_open_here_document);
        if let Some(text) = line.strip_prefix("$ ").filter(|_| !in_file) {
            self.commands.push(Command {
                line: number,
                text: text.to_owned(),
                exit_code: exit_code(text),
                output: Vec::new(),
            });
            return;
        }
        let command = self.commands.last_mut().unwrap_or_else(|| panic!("{place}: output without a command"));
        if command.output.is_empty() && (command.text.ends_with('\\') || command.has_open_here_document()) {
            command.text = format!("{}\n{line}", command.text);
            command.exit_code = command.exit_code.max(exit_code(line));
        } else {
            command.output.push(line.to_owned());
        }
    }
}

impl Command {
    /// Whether a file is being written (`<<'EOF'`) that has not ended.
    fn has_open_here_document(&self) -> bool {
        self.text.contains("<<'EOF'") && !self.text.ends_with("\nEOF")
    }
}

/// The file name of a picture.
fn picture(line: &str) -> Option<String> {
    let (_, path) = line.strip_prefix("![")?.split_once("](")?;
    path.strip_suffix(".png)")?.rsplit('/').next().map(|name| format!("{name}.png"))
}

fn local_addresses(text: &str) -> impl Iterator<Item = String> {
    const HOST: &str = "127.0.0.1:";
    let ports = text.split(HOST).skip(1).map(|after| after.split(|one: char| !one.is_ascii_digit()).next());
    ports.flatten().filter(|port| !port.is_empty()).map(|port| format!("{HOST}{port}"))
}

fn exit_code(line: &str) -> i32 {
    let after = line.split_once('#').and_then(|(_, comment)| comment.split_once("exit code ")).map(|(_, after)| after);
    after.and_then(|after| after.chars().next()).and_then(|digit| digit.to_string().parse().ok()).unwrap_or_default()
}

/// Whether an output is what the page shows: a line `...` stands for any lines, and `...` in a line for any text.
pub(crate) fn matches(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..])),
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(line, others)| matches_line(first, line) && matches(rest, others))
        }
    }
}

fn matches_line(shown: &str, printed: &str) -> bool {
    let mut parts = shown.trim_end().split("...");
    let printed = printed.trim_end();
    let Some(mut rest) = parts.next().and_then(|first| printed.strip_prefix(first)) else { return false };
    let parts: Vec<_> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Targets of links within the project.
pub(crate) fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|after| after.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://") && !target.contains(' ')).map(str::to_owned).collect()
}

/// Headings, as links name them.
pub(crate) fn headings(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|&one| one.is_alphanumeric() || one == ' ' || one == '-' || one == '_');
        kept.map(|one| if one == ' ' { '-' } else { one }).collect()
    };
    lines.map(anchor).collect()
}

#[test]
fn outputs_are_compared_with_what_a_page_shows() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let printed = ["a 1", "b 2", "c 3"];
    for (shown, expected) in [
        ("a 1\nb 2\nc 3", true),
        ("a 1\n...\nc 3", true),
        ("a 1\n...", true),
        ("a ...\nb 2\nc 3", true),
        ("...\nb 3\n...", false),
        ("a 1\nb 2", false),
    ] {
        assert_eq!(matches(&lines(shown), &printed), expected, "{shown}");
    }
}

#[test]
fn a_page_has_commands_with_their_exit_codes_and_outputs() {
    let text = "Text\n```console cluster\n$ a --b \\\n    c   # finds one; exit code 1\nout\n$ d\n```\n```yaml\n$ not a command\n```\n";
    let page = Page::parse("a page", text);
    let [Block::Console(block)] = page.blocks.as_slice() else { panic!("{}", page.blocks.len()) };
    let found: Vec<_> = block.commands.iter().map(|one| (one.line, one.exit_code, one.output.len())).collect();
    assert_eq!((block.cluster, block.background, found), (true, false, vec![(3, 1, 1), (6, 0, 0)]));
}

#[test]
fn a_command_may_write_a_file() {
    let text =
        "```console\n$ cat > a.yaml <<'EOF'\nkey: value\n\n$ of: the file\nEOF\n$ cat a.yaml\nkey: value\n...\n```\n";
    let page = Page::parse("a page", text);
    let [Block::Console(block)] = page.blocks.as_slice() else { panic!("{}", page.blocks.len()) };
    let found: Vec<_> = block.commands.iter().map(|one| (one.text.as_str(), one.output.len())).collect();
    assert_eq!(found, [("cat > a.yaml <<'EOF'\nkey: value\n\n$ of: the file\nEOF", 0), ("cat a.yaml", 2)]);
}

#[test]
fn a_page_has_steps_in_a_browser_and_a_picture_of_where_they_lead() {
    let text = "```console\n$ serve --listen 127.0.0.1:8080 --to=127.0.0.1:1\n```\n```browser\nopen http://127.0.0.1:8080/\nsee \"a\"\n```\n\n![A](../images/a.png)\n\n![B](b.png)\n";
    let page = Page::parse("a page", text);
    let [_, Block::Browser(block)] = page.blocks.as_slice() else { panic!("{}", page.blocks.len()) };
    let lines: Vec<_> = block.steps.iter().map(|(line, _)| *line).collect();
    assert_eq!((lines, block.picture.as_deref()), (vec![5, 6], Some("a.png")));
    assert!(page.has_browser_blocks());
    assert_eq!(page.local_addresses().into_iter().collect::<Vec<_>>(), ["127.0.0.1:1", "127.0.0.1:8080"]);
}
