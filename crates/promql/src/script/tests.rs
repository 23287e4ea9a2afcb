use super::*;
use crate::eval::Settings;
use crate::limits::Limits;

fn report(script: &str) -> Report {
    run(script, &Limits::default(), &Settings::default()).unwrap()
}

#[test]
#[ignore = "development only"]
fn dev_corpus() {
    let dir = std::env::var("PROMQLTEST").unwrap();
    let show = std::env::var("SHOW").is_ok();
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "test")) {
        let text = std::fs::read_to_string(file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        match run(&text, &Limits::default(), &Settings::default()) {
            Err(error) => println!("{name}: {error}"),
            Ok(report) => {
                println!("{name}: passed/failed/unsupported {:?}", report.counts());
                for outcome in report.outcomes {
                    match outcome.verdict {
                        Verdict::Failed(message) => println!(
                            "  {}:{} {}\n     {}",
                            name,
                            outcome.line,
                            outcome.query,
                            message.replace('\n', "\n     ")
                        ),
                        Verdict::Unsupported(message) if show => {
                            println!("  {}:{} {}\n     U {}", name, outcome.line, outcome.query, message)
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}
