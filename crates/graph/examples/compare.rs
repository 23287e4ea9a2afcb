//! Holds the graph of a directory against answers of another update service, as sets.
//!
//! `compare GRAPH_DATA EXPECTED`: EXPECTED holds files `CHANNEL_ARCH.json`. Prints what differs and how long each step
//! took; exits 1 on a difference, 3 if something cannot be read.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clearway_core::{Arch, Digest, Limits, Severity};
use clearway_graph::convert::{self, Conversion};
use clearway_graph::{Graph, Inputs, Revision, load, wire};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [data, expected] = arguments.as_slice() else {
        eprintln!("usage: compare GRAPH_DATA EXPECTED");
        return ExitCode::from(3);
    };
    match run(Path::new(data), Path::new(expected)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(differences) => {
            println!("{differences} answers differ");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn run(data: &Path, expected: &Path) -> Result<usize, Box<dyn std::error::Error>> {
    let limits = Limits::default();
    timings(data, &limits)?;
    let outcome = load(&gather(data)?, &limits);
    for diagnostic in outcome.diagnostics.iter().filter(|found| found.severity > Severity::Info) {
        let file = diagnostic.place.file.as_deref().unwrap_or("-");
        println!("{} {file}: {}", diagnostic.code, diagnostic.message);
    }
    let revision = outcome.revision.ok_or("the revision is refused")?;
    println!("revision {}: {revision}", revision.id());
    let mut differences = convert_there_and_back(&gather(data)?, &revision, &limits);
    let mut files: Vec<_> = std::fs::read_dir(expected)?.collect::<Result<_, _>>()?;
    files.sort_by_key(std::fs::DirEntry::path);
    for file in files {
        let path = file.path();
        let Some((channel, arch)) = path.file_stem().and_then(|stem| stem.to_str()?.rsplit_once('_')) else { continue };
        if !compare(&revision, channel, &arch.parse()?, &std::fs::read(&path)?, &limits)? {
            differences += 1;
        }
    }
    Ok(differences)
}

/// Declares every risk and writes the blocks again; the number of these two steps that change any answer.
fn convert_there_and_back(inputs: &Inputs, revision: &Revision, limits: &Limits) -> usize {
    let replaced = |inputs: &Inputs, conversion: &Conversion| -> Inputs {
        let kept = inputs.iter().filter(|(path, _)| !conversion.replaced.contains(*path));
        let kept = kept.map(|(path, content)| (path.to_owned(), content.to_vec()));
        kept.chain(conversion.files.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes()))).collect()
    };
    let wanted = bodies(revision);
    let start = Instant::now();
    let Ok(declared) = convert::declare(revision) else { return 2 };
    let (from, to, took) = (declared.replaced.len(), declared.files.len(), start.elapsed());
    let inputs = replaced(inputs, &declared);
    let Some(second) = load(&inputs, limits).revision else { return 2 };
    let same = bodies(&second) == wanted;
    println!("{from} blocks are {to} declared risks ({took:.1?}): answers the same: {same}");
    let Ok(compiled) = convert::compile(&second) else { return 2 };
    let Some(third) = load(&replaced(&inputs, &compiled), limits).revision else { return 2 };
    let again = bodies(&third) == wanted;
    println!(
        "{} declared risks are {} blocks: answers the same: {again}",
        compiled.replaced.len(),
        compiled.files.len()
    );
    usize::from(!same) + usize::from(!again)
}

fn bodies(revision: &Revision) -> Vec<Vec<u8>> {
    let arches = revision.arches();
    let pairs = revision.channels().flat_map(|channel| arches.iter().map(move |arch| (channel, arch)));
    pairs.map(|(channel, arch)| wire::write(&revision.graph(&channel.name, arch))).collect()
}

/// The best of several runs of each step, so that the numbers are warm ones.
fn timings(data: &Path, limits: &Limits) -> Result<(), Box<dyn std::error::Error>> {
    let (mut hashing, mut loading, mut serving) = (Duration::MAX, Duration::MAX, Duration::MAX);
    let (mut bodies, mut bytes, mut size) = (0, 0, 0);
    for _ in 0..7 {
        let start = Instant::now();
        let inputs = gather(data)?;
        size = inputs.iter().map(|(_, content)| content.len()).sum::<usize>();
        for (_, content) in inputs.iter() {
            std::hint::black_box(Digest::sha256(content));
        }
        hashing = hashing.min(start.elapsed());
        let start = Instant::now();
        let inputs = gather(data)?;
        let Some(revision) = load(&inputs, limits).revision else { return Ok(()) };
        loading = loading.min(start.elapsed());
        let start = Instant::now();
        (bodies, bytes) = (0, 0);
        for channel in revision.channels() {
            for arch in revision.arches() {
                bodies += 1;
                bytes += std::hint::black_box(wire::write(&revision.graph(&channel.name, arch))).len();
            }
        }
        serving = serving.min(start.elapsed());
    }
    let total = loading + serving;
    println!("read and hash {size} bytes: {hashing:.1?}");
    println!("read and load: {loading:.1?}; {bodies} bodies, {bytes} bytes: {serving:.1?}");
    println!("all together: {total:.1?}, {:.2} times reading and hashing", total.as_secs_f64() / hashing.as_secs_f64());
    Ok(())
}

fn gather(root: &Path) -> std::io::Result<Inputs> {
    fn walk(root: &Path, directory: &Path, inputs: &mut Inputs) -> std::io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let path = entry.path();
            if entry.file_type()?.is_dir() {
                walk(root, &path, inputs)?;
            } else {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                inputs.insert(name, std::fs::read(&path)?);
            }
        }
        Ok(())
    }
    let mut inputs = Inputs::new();
    walk(root, root, &mut inputs)?;
    Ok(inputs)
}

fn compare(
    revision: &Revision,
    channel: &str,
    arch: &Arch,
    expected: &[u8],
    limits: &Limits,
) -> Result<bool, Box<dyn std::error::Error>> {
    let ours = revision.graph(channel, arch);
    let reading = wire::read(expected, limits);
    for diagnostic in &reading.diagnostics {
        println!("{channel} {arch}: {} {}", diagnostic.code, diagnostic.message);
    }
    let theirs = reading.graph.ok_or("the expected answer cannot be read")?;
    let again = wire::read(&wire::write(&ours), limits).graph.ok_or("our own answer cannot be read")?;
    let mut same = true;
    if again != ours {
        println!("{channel} {arch}: our answer changes on its way over the wire");
        same = false;
    }
    for (what, ours, theirs) in [
        ("nodes", nodes(&ours), nodes(&theirs)),
        ("edges", edges(&ours), edges(&theirs)),
        ("risks of edges", risks(&ours), risks(&theirs)),
    ] {
        let (more, less): (Vec<_>, Vec<_>) = (ours.difference(&theirs).collect(), theirs.difference(&ours).collect());
        println!("{channel} {arch}: {} {what}, {} too many, {} missing", ours.len(), more.len(), less.len());
        for (sign, list) in [("+", &more), ("-", &less)] {
            list.iter().take(5).for_each(|item| println!("  {sign} {item}"));
        }
        same &= more.is_empty() && less.is_empty();
    }
    // Both are in one form, so equal sets are equal graphs; said twice because it is cheap.
    Ok(same && ours == theirs)
}

fn nodes(graph: &Graph) -> BTreeSet<String> {
    graph.nodes().iter().map(|node| node.json().to_owned()).collect()
}

fn edges(graph: &Graph) -> BTreeSet<String> {
    graph.edges().iter().map(|edge| named(graph, *edge)).collect()
}

fn risks(graph: &Graph) -> BTreeSet<String> {
    let pairs = graph.updates().flat_map(|(edge, risks)| risks.iter().map(move |risk| (edge, risk)));
    pairs.map(|(edge, risk)| format!("{} {}", named(graph, edge), risk.json())).collect()
}

fn named(graph: &Graph, edge: clearway_graph::Edge) -> String {
    let name = |place| graph.node(place).map(|node| node.version().to_string()).unwrap_or_default();
    format!("{} -> {}", name(edge.from), name(edge.to))
}
