//! The command line itself: help, mistakes, completions, manual pages.

mod hostile_text;
mod names;
mod streams;
mod terminal;
mod user_agent;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::{Answer, Place};

/// Every command, and whether its help shows examples.
const COMMANDS: [(&str, bool); 92] = [
    ("", false),
    ("assess", true),
    ("demo", true),
    ("explain", true),
    ("completions", true),
    ("man", true),
    ("fleet", false),
    ("fleet assess", true),
    ("fleet diff", true),
    ("graph", false),
    ("graph build", true),
    ("graph init", true),
    ("graph list", true),
    ("graph show", true),
    ("graph explain", true),
    ("graph lint", true),
    ("graph diff", true),
    ("graph paths", true),
    ("graph publish", true),
    ("graph stranded", true),
    ("graph render", true),
    ("graph convert", true),
    ("install", true),
    ("install update-service", true),
    ("uninstall", true),
    ("uninstall update-service", true),
    ("version", true),
    ("operator", true),
    ("bundle", false),
    ("bundle build", true),
    ("bundle check", true),
    ("bundle convert", true),
    ("bundle diff", true),
    ("bundle explain", true),
    ("bundle guard", true),
    ("bundle installed", true),
    ("bundle ledger", true),
    ("bundle migrate", true),
    ("bundle preflight", true),
    ("bundle show", true),
    ("catalog", false),
    ("catalog list", true),
    ("catalog show", true),
    ("catalog publish", true),
    ("gateway", false),
    ("gateway status", true),
    ("gateway audit", true),
    ("gateway diff", true),
    ("gateway explain", true),
    ("gateway render", true),
    ("policy", false),
    ("policy verify", true),
    ("policy test", true),
    ("policy lint", true),
    ("policy explain", true),
    ("policy bench", true),
    ("policy audit", true),
    ("policy preview", true),
    ("cel", false),
    ("cel check", true),
    ("cel eval", true),
    ("cel test", true),
    ("cel explain", true),
    ("promql", false),
    ("promql query", true),
    ("promql check", true),
    ("promql test", true),
    ("release", false),
    ("release pack", true),
    ("release show", true),
    ("release verify", true),
    ("release render", true),
    ("risk", false),
    ("risk list", true),
    ("risk explain", true),
    ("risk test", true),
    ("serve", true),
    ("snapshot", false),
    ("snapshot collect", true),
    ("snapshot show", true),
    ("status", false),
    ("status show", true),
    ("status lint", true),
    ("status wait", true),
    ("status explain", true),
    ("upgrade", true),
    ("upgrade channel", true),
    ("upgrade accept", true),
    ("upgrade recommend", true),
    ("upgrade status", true),
    ("upgrade history", true),
    ("upgrade plan", true),
];

fn run(line: &str) -> Answer {
    Place::new().run(&line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn help_is_an_answer() {
    for (command, examples) in COMMANDS {
        for flag in ["--help", "-h"] {
            let help = run(&format!("{command} {flag}"));
            assert_eq!((help.code, help.err.as_str()), (0, ""), "{command} {flag}");
            assert!(help.out.contains(&format!("Usage: {}", format!("clearway {command}").trim())), "{}", help.out);
            assert_eq!(help.out.contains("\nExample"), examples, "{command} {flag}");
        }
    }
}

#[test]
fn help_shows_the_commands_that_exist_and_the_exit_codes() {
    let help = run("--help").out;
    for line in
        ["  demo  ", "  promql  ", "  status  ", "  completions  ", "  man  ", "  0  yes, clean", "  3  could not run"]
    {
        assert!(help.contains(line), "{line:?} in {help}");
    }
    let status = run("status --help").out;
    for line in ["  show  ", "  lint  ", "  wait  ", "  explain  "] {
        assert!(status.contains(line), "{line:?} in {status}");
    }
    for (command, _) in COMMANDS.iter().skip(1) {
        assert_eq!(run(&format!("help {command}")), run(&format!("{command} --help")), "{command}");
    }
}

#[test]
fn no_command_shows_the_help_and_is_no_success() {
    for command in ["", "status"] {
        let answer = run(command);
        assert_eq!((answer.code, answer.out.as_str()), (3, ""));
        assert!(answer.err.contains("Commands:\n"), "{answer:?}");
    }
}

#[test]
fn a_mistake_is_answered_with_what_was_meant() {
    for (line, hint) in [
        ("statu", "'status'"),
        ("status lnt", "'lint'"),
        ("status lint --profil x", "'--profile'"),
        ("status lint -f . -o sarfi", "'sarif'"),
        ("status lint -f . --max-file-size many", "`many` is not a size such as 512K, 10M or 1G"),
        ("status wait deploy --timeout soon", "`soon` is not a duration such as 90s, 5m or 1h30m"),
        ("status lint deploy -f .", "cannot be used with"),
        ("status lint --all -f .", "cannot be used with"),
        ("status show -f . -A", "cannot be used with"),
        ("completions tcsh", "bash, elvish, fish, powershell, zsh"),
    ] {
        let answer = run(line);
        assert_eq!((answer.code, answer.out.as_str()), (3, ""), "{line}");
        assert!(answer.err.starts_with("error: ") && answer.err.contains(hint), "{line}: {answer:?}");
        assert!(answer.err.contains("try '--help'"), "{line}: {answer:?}");
    }
}

#[test]
fn the_version_is_told() {
    let want = format!("clearway {}\n", env!("CARGO_PKG_VERSION"));
    for line in ["--version", "-V"] {
        assert_eq!(run(line), Answer { code: 0, out: want.clone(), err: String::new() });
    }
}

#[test]
fn every_shell_has_completions() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(&["completions", shell]);
        assert_eq!((script.code, script.err.as_str()), (0, ""), "{shell}");
        for word in ["clearway", "lint", "suppressions", "explain"] {
            assert!(script.out.contains(word), "{shell}: {word}");
        }
        if shell == "bash" {
            let path = place.write("clearway.bash", &script.out);
            match Command::new("bash").arg("-n").arg(path).output() {
                Ok(checked) => assert!(checked.status.success(), "{checked:?}"),
                Err(error) => eprintln!("not checked, no bash: {error}"),
            }
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    let answer = place.run(&["man", "--output-dir", "share/man1"]);
    assert_eq!((answer.code, answer.out.as_str(), answer.err.as_str()), (0, "", ""));
    let written: BTreeSet<String> = fs::read_dir(place.path().join("share/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let page = |command: &str| format!("clearway {command}").trim().replace(' ', "-") + ".1";
    assert_eq!(written, COMMANDS.iter().map(|(command, _)| page(command)).collect());
    for (command, examples) in COMMANDS {
        let text = fs::read_to_string(place.path().join("share/man1").join(page(command))).unwrap();
        assert!(text.contains("\n.SH NAME\n") && text.contains("\n.SH SYNOPSIS\n"), "{command}: {text}");
        assert_eq!(text.contains("\n.SH EXAMPLES\n.nf\n"), examples, "{command}: {text}");
        assert!(text.starts_with(".ie ") && text.contains("\"clearway 0"), "{command}: {text}");
    }
    let printed = place.run(&["man"]);
    assert_eq!(printed.out, fs::read_to_string(place.path().join("share/man1/clearway.1")).unwrap());
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let place = Place::new();
    place.write("taken", "");
    for arguments in [&["man", "--output-dir", "taken/below"][..], &["demo", "--output-dir", "taken/below"]] {
        let answer = place.run(arguments);
        assert_eq!(answer.code, 3);
        assert!(answer.err.starts_with("error: cannot create taken/below"), "{answer:?}");
    }
}
