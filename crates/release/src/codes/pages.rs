//! What to do about each code of a release, with examples.

use clearway_core::Severity;
use clearway_core::diagnostic::CodePage;

use super::{RULES, Rule};

/// The pages of all codes, in their order.
pub fn pages() -> Vec<CodePage> {
    let page = |(rule, (severity, [action, wrong, right])): (&Rule, &(Severity, [&'static str; 3]))| {
        CodePage::of_rule(rule, *severity, action).with_example(wrong, right)
    };
    RULES.iter().zip(&ADVICE).map(page).collect()
}

use Severity::{Error as E, Warning as W};

/// The gravest severity of each code in the order of [`RULES`], what to do, what has the code, and what does not.
#[rustfmt::skip]
const ADVICE: [(Severity, [&str; 3]); RULES.len()] = [
    (E, ["Give every document `apiVersion`, `kind` and `metadata.name`.", "kind: ConfigMap", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: shop"]),
    (E, ["Remove one of the two manifests.", "", ""]),
    (E, ["Pack the output of `helm template` or `kustomize build`, not the templates.", "image: {{ .Values.image }}", "image: registry.example.com/shop@sha256:…"]),
    (E, ["Pack the release with `clearway release pack --version VERSION`.", "", ""]),
    (E, ["Correct the file, or pack the release again.", "", ""]),
    (E, ["Use regular files with names of letters, digits, `-`, `_` and `.`.", "", ""]),
    (E, ["Split the release into components.", "", ""]),
    (W, ["Create the Secret in the cluster, or refer to an external store.", "kind: Secret\nstringData: {password: x}", "# not part of the release"]),
    (W, ["Name the file 0000_NN_component_name.yaml, or give it another beginning.", "0000_shop.yaml", "0000_30_shop_deployment.yaml"]),
    (W, ["Name the image by digest.", "image: registry.example.com/shop:1.5", "image: registry.example.com/shop@sha256:…"]),
    (W, ["Remove one of the keys.", "data: {a: '1'}\ndata: {b: '2'}", "data: {a: '1', b: '2'}"]),
    (W, ["Give the file of the namespace or definition a lower run level.", "0000_50_shop_crd.yaml", "0000_10_shop_crd.yaml"]),
    (W, ["Rename the file so that it ends in .yaml, .yml or .json, or remove it.", "deployment.yaml.bak", "deployment.yaml"]),
    (E, ["Pack at least one manifest.", "", ""]),
    (E, ["Sign the release with `cosign`, or pass the key of the signer with --key.", "", ""]),
    (E, ["Correct the digest or the version of the update graph, or push the release again.", "", ""]),
];
