//! Every command line of the documentation is executed, page by page and in the order of the page, and what a page shows
//! as output is compared with what is printed.
//!
//! A page is executed in an empty directory that has the project's `examples` and `catalog` in it. Code blocks of the
//! language `console` hold the command lines (`$ …`); words after the language say what they need:
//!
//! | word          | the block |
//! |---------------|-----------|
//! | `cluster`     | runs against a real control plane, which belongs to the page |
//! | `controllers` | needs controllers and a node in it |
//! | `background`  | starts a program that runs until the page ends |
//!
//! Code blocks of the language `browser` hold steps in a real Chromium, a line for each. One browser belongs to the page, and
//! goes on from block to block. A picture below such a block shows where it ends; with `CLEARWAY_SCREENSHOTS=DIR` it is
//! written there.
//!
//! | line                       | step |
//! |----------------------------|------|
//! | `open ADDRESS`             | load a page |
//! | `see "TEXT"`               | the page shows the text |
//! | `wait for "TEXT"`          | load the page again until it shows the text |
//! | `click "NAME"`             | click on the first link, button or other control with this text |
//! | `type "TEXT" into "LABEL"` | fill in the field with this label, and press Enter |
//!
//! A command may go on in the next line after a backslash, and write a file with `<<'EOF'`. It must end with exit code 0, unless a comment on its line says `exit code N`. A line `...` of an output stands
//! for any lines, and `...` in a line for any text. Hosts of the domain `example.com` stand for real programs that the
//! tests start, and ports of 127.0.0.1 for ports that are free; see `world.rs`.

mod browser_block;
mod page;
mod world;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use page::{Block, Page};
use world::World;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Pages in the order in which a newcomer reads them. A page that is not here fails `every_page_is_executed`.
macro_rules! pages {
    ($($name:ident: $path:literal,)*) => {
        const PAGES: &[&str] = &[$($path),*];
        $(
            #[tokio::test]
            async fn $name() {
                execute($path).await;
            }
        )*
    };
}

pages! {
    readme: "README.md",
    walk_of_a_cluster_administrator: "docs/walks/cluster-administrator.md",
    walk_of_a_release_engineer: "docs/walks/release-engineer.md",
    walk_of_a_controller_author: "docs/walks/controller-author.md",
    run_a_cluster: "docs/tasks/run-a-cluster.md",
    publish_releases: "docs/tasks/publish-releases.md",
    write_a_risk: "docs/tasks/write-a-risk.md",
    ship_crds: "docs/tasks/ship-crds.md",
    gatekeeper_policies: "docs/tasks/gatekeeper-policies.md",
    debug_a_gateway: "docs/tasks/debug-a-gateway.md",
    air_gapped: "docs/tasks/air-gapped.md",
    fleet: "docs/tasks/fleet.md",
    status_in_ci: "docs/tasks/status-in-ci.md",
    from_oc_adm_upgrade: "docs/coming-from/oc-adm-upgrade.md",
    from_cincinnati: "docs/coming-from/cincinnati.md",
    from_gator: "docs/coming-from/gator.md",
    from_gwctl: "docs/coming-from/gwctl.md",
    from_crdify: "docs/coming-from/crdify.md",
    from_kstatus: "docs/coming-from/kstatus.md",
    command_line: "docs/command-line.md",
    updating: "docs/updating.md",
    catalog: "docs/catalog.md",
    bundles: "docs/bundles.md",
    gateway: "docs/gateway.md",
    console: "docs/console.md",
    installing: "docs/installing.md",
    policies: "docs/policies.md",
    publishing: "docs/publishing.md",
}

/// Executes one page; stops at the first command that does not do what the page says.
async fn execute(path: &str) {
    let text = fs::read_to_string(Path::new(ROOT).join(path)).unwrap();
    let page = Page::parse(path, &text);
    let Some(mut world) = World::start(&page).await else { return };
    for block in &page.blocks {
        match block {
            Block::Browser(block) => world.browse(path, block).await,
            Block::Console(block) if block.background => {
                for command in &block.commands {
                    world.start_program(path, command).await;
                }
            }
            Block::Console(block) => block.commands.iter().for_each(|command| world.run(path, command)),
        }
    }
}

/// The pages of the documentation that have command lines.
fn pages_with_commands() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut directories = vec![PathBuf::from(ROOT).join("docs")];
    let mut files = vec![PathBuf::from(ROOT).join("README.md")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                files.push(path);
            }
        }
    }
    for file in files {
        let name = file.strip_prefix(ROOT).unwrap().display().to_string();
        let page = Page::parse(&name, &fs::read_to_string(&file).unwrap());
        if !page.blocks.is_empty() {
            found.insert(name);
        }
    }
    found
}

#[test]
fn every_page_is_executed() {
    let executed: BTreeSet<String> = PAGES.iter().map(|&page| page.to_owned()).collect();
    let missing: Vec<_> = pages_with_commands().difference(&executed).cloned().collect();
    assert!(missing.is_empty(), "add these pages to the list in this file: {missing:?}");
}

/// A link to a page or a heading that does not exist is a dead end for its reader.
#[test]
fn links_between_pages_lead_somewhere() {
    let mut wrong = Vec::new();
    for name in pages_with_commands() {
        let file = Path::new(ROOT).join(&name);
        for target in page::links(&fs::read_to_string(&file).unwrap()) {
            let (path, heading) = target.split_once('#').unwrap_or((target.as_str(), ""));
            let linked = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            if !linked.exists() {
                wrong.push(format!("{name}: {target}: there is no such file"));
            } else if !heading.is_empty() && !page::headings(&fs::read_to_string(&linked).unwrap()).contains(heading) {
                wrong.push(format!("{name}: {target}: there is no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
