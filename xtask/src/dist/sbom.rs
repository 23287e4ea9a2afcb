//! The bill of materials in `CycloneDX` 1.6: every package in the binary with its version, checksum, licence and dependencies.
//!
//! It is written here and not by another tool, because cargo itself knows exactly what is in the binary, and because the
//! document must be the same bytes everywhere: it has no random serial number, and its time is that of the commit.

use anyhow::Result;
use serde_json::{Value, json};

use super::archive::sha256;
use super::packages::{Package, Packages};

/// The document.
pub(crate) fn document(packages: &Packages, epoch: u64, revision: &str) -> Result<String> {
    let time = jiff::Timestamp::from_second(epoch.try_into()?)?;
    let is_product = |package: &&Package| package.name == "clearway";
    let product = packages.all.values().find(is_product).map(component).unwrap_or_default();
    let others: Vec<Value> = packages.all.values().filter(|package| !is_product(package)).map(component).collect();
    let dependencies: Vec<Value> = packages
        .all
        .values()
        .map(|package| {
            let uses: Vec<String> = package.uses.iter().map(|(name, version)| reference(name, version)).collect();
            json!({"ref": reference(&package.name, &package.version), "dependsOn": uses})
        })
        .collect();
    let mut product = product;
    product["type"] = json!("application");
    product["properties"] = json!([{"name": "clearway:revision", "value": revision}]);
    let mut document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": time.to_string(), "component": product},
        "components": others,
        "dependencies": dependencies,
    });
    document["serialNumber"] = serial_number(&document).into();
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(&package.name, &package.version),
        "name": package.name,
        "version": package.version,
        "purl": reference(&package.name, &package.version),
    });
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    if let Some(licence) = &package.licence {
        // Older packages separate alternatives with a slash, which SPDX does not know.
        component["licenses"] = json!([{"expression": licence.replace(" / ", " OR ").replace('/', " OR ")}]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

/// The package URL, which is also what other entries refer to.
fn reference(name: &str, version: &str) -> String {
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// A UUID that depends on the content only.
fn serial_number(document: &Value) -> String {
    let hash = sha256(document.to_string().as_bytes());
    let part = |range: std::ops::Range<usize>| hash.get(range).unwrap_or_default().to_owned();
    format!("urn:uuid:{}-{}-5{}-8{}-{}", part(0..8), part(8..12), part(13..16), part(17..20), part(20..32))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_document_has_every_package_and_who_uses_it() {
        let package = |name: &str, licence: &str, uses: &[(&str, &str)]| Package {
            name: name.to_owned(),
            version: "1.0.0+x".to_owned(),
            licence: Some(licence.to_owned()),
            repository: None,
            checksum: (name != "clearway").then(|| "abc".to_owned()),
            directory: PathBuf::new(),
            uses: uses
                .iter()
                .map(|(name, version)| ((*name).to_owned(), (*version).to_owned()))
                .collect::<BTreeSet<_>>(),
        };
        let all = [package("clearway", "Apache-2.0", &[("b", "1.0.0+x")]), package("b", "MIT/Apache-2.0", &[])];
        let all = all.map(|one| ((one.name.clone(), one.version.clone()), one));
        let packages = Packages {
            version: "1.0.0".to_owned(),
            root: PathBuf::new(),
            target_directory: PathBuf::new(),
            all: BTreeMap::from(all),
        };
        let document: Value = serde_json::from_str(&document(&packages, 0, "abcdef").unwrap()).unwrap();
        assert_eq!(document["metadata"]["component"]["name"], "clearway");
        assert_eq!(document["metadata"]["component"]["type"], "application");
        assert_eq!(document["metadata"]["timestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(document["components"][0]["purl"], "pkg:cargo/b@1.0.0%2Bx");
        assert_eq!(document["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(document["components"][0]["hashes"][0]["content"], "abc");
        assert_eq!(document["dependencies"][1]["dependsOn"], json!(["pkg:cargo/b@1.0.0%2Bx"]));
        let number = document["serialNumber"].as_str().unwrap();
        assert!(number.len() == 45 && number.starts_with("urn:uuid:"), "{number}");
    }
}
