//! What Helm puts in place of a line with a recognisable value.

use super::super::release_keys;

/// Begins every recognisable value. No object has it otherwise, and YAML needs no quotes for it.
pub(super) const MARK: &str = "chart.";
pub(super) const NAMESPACE: &str = "chart.namespace";
pub(super) const IMAGE: &str = "chart.image";
pub(super) const UPSTREAM: &str = "chart.upstream";
pub(super) const PROMETHEUS: &str = "chart.prometheus";
pub(super) const OPTIONS: &str = "chart.options";
pub(super) const SERVICE_OPTIONS: &str = "chart.service-options";
pub(super) const KEY_FILE: &str = "chart.key-file";
pub(super) const KEY: &str = "chart.key";
pub(super) const KEYS_NAME: &str = "chart.keys-name";
pub(super) const GATEWAY_CLASS: &str = "chart.gateway-class";
pub(super) const GRAPH_CONFIG_MAP: &str = "chart.graph-config-map";
pub(super) const REGISTRY_SECRET: &str = "chart.registry-secret";

/// A line without its indentation, and what replaces it. The first match counts; a rule without a newline replaces a part of a
/// line, and one with several lines the whole line.
const RULES: &[(&str, &str)] = &[
    ("namespace: chart.namespace", "namespace: {{ .Release.Namespace | quote }}"),
    ("- --namespace=chart.namespace", "- --namespace={{ .Release.Namespace }}"),
    ("image: chart.image", "image: {{ .Values.image | quote }}"),
    ("app.kubernetes.io/managed-by: clearway-install", "app.kubernetes.io/managed-by: {{ .Release.Service }}"),
    (
        "- --upstream=chart.upstream",
        "{{- with .Values.upstream }}\n- {{ printf \"--upstream=%s\" . | quote }}\n{{- end }}",
    ),
    (
        "- --prometheus=chart.prometheus",
        "{{- with .Values.prometheus }}\n- {{ printf \"--prometheus=%s\" . | quote }}\n{{- end }}",
    ),
    (
        "- --metrics-listen=0.0.0.0:9081",
        "- --metrics-listen={{ if eq .Values.metrics \"authenticated\" }}0.0.0.0{{ else }}127.0.0.1{{ end }}:9081",
    ),
    (
        "- --metrics-authentication",
        "{{- if eq .Values.metrics \"authenticated\" }}\n- --metrics-authentication\n{{- end }}",
    ),
    ("- --apply-updates", "{{- if .Values.applyUpdates }}\n- --apply-updates"),
    (
        "- --release-key=/etc/clearway/release-keys/chart.key-file",
        "{{- range $name, $_ := .Values.releaseKeys }}\n- {{ printf \"--release-key=/etc/clearway/release-keys/%s\" $name | quote }}\n{{- end }}\n{{- end }}",
    ),
    ("- --chart.options", "{{- include \"clearway.options\" .Values.options | nindent INDENTATION }}"),
    (
        "- --chart.service-options",
        "{{- include \"clearway.options\" .Values.updateService.options | nindent INDENTATION }}",
    ),
    (
        "- --gateway-class=chart.gateway-class",
        "{{- include \"clearway.options\" (merge (dict \"gateway-class\" .Values.gatewayClass) .Values.gatewayOptions) | nindent INDENTATION }}",
    ),
    (
        "- --policies",
        "{{- include \"clearway.options\" (merge (dict \"policies\" true) .Values.policyOptions) | nindent INDENTATION }}",
    ),
    (
        "chart.key-file: chart.key",
        "{{- range $name, $key := .Values.releaseKeys }}\n{{ $name | quote }}: {{ $key | quote }}\n{{- end }}",
    ),
    ("name: chart.keys-name", "name: {{ include \"clearway.releaseKeysName\" . }}"),
    ("name: chart.graph-config-map", "name: {{ .Values.updateService.graphConfigMap | quote }}"),
    ("secretName: chart.registry-secret", "secretName: {{ .Values.updateService.registrySecret | quote }}"),
    (
        "- --graph=/etc/clearway/graph-data/graph-data.tar.gz",
        "{{- if .Values.updateService.graphConfigMap }}\n\
         - --graph=/etc/clearway/graph-data/graph-data.tar.gz\n\
         {{- else if .Values.updateService.graph }}\n\
         - {{ printf \"--graph=%s\" .Values.updateService.graph | quote }}\n\
         {{- end }}",
    ),
    (
        "- --registry-config=/etc/clearway/registry/config.json",
        "{{- if .Values.updateService.registrySecret }}\n- --registry-config=/etc/clearway/registry/config.json\n{{- end }}",
    ),
];

/// What replaces the annotation that changes with the keys.
const FINGERPRINT: &str = "{{- if and .Values.applyUpdates .Values.releaseKeys }}\n\
                           clearway.dev/release-keys: {{ .Values.releaseKeys | toJson | sha256sum }}\n\
                           {{- end }}";

/// The expressions that templates must have, so that no rule is out of use.
#[cfg(test)]
pub(super) fn expressions() -> impl Iterator<Item = &'static str> {
    let last = |(_, expression): &(&str, &'static str)| expression.lines().next().unwrap_or_default();
    RULES.iter().map(last).filter(|line| !line.contains("INDENTATION"))
}

/// A template from the YAML of objects.
pub(super) fn fill(yaml: &str) -> String {
    // Braces that are there already are for Prometheus, and stay.
    let escaped = yaml.replace("{{", "\u{1}").replace("}}", "\u{2}");
    let escaped = escaped.replace('\u{1}', "{{ \"{{\" }}").replace('\u{2}', "{{ \"}}\" }}");
    escaped.lines().map(line).collect()
}

fn line(line: &str) -> String {
    let text = line.trim_start();
    let indentation = line.get(..line.len() - text.len()).unwrap_or_default();
    // An element of a list that is a mapping begins with its first key.
    let (dash, text) = match text.strip_prefix("- ") {
        Some(rest) if !rest.starts_with('-') && !rest.starts_with(MARK) => ("- ", rest),
        _ => ("", text),
    };
    let condition = text.strip_prefix("- ").and_then(|text| text.strip_prefix(MARK));
    let is_fingerprint = text.starts_with(release_keys::FINGERPRINT);
    let filled = if is_fingerprint {
        FINGERPRINT.to_owned()
    } else if let Some((_, with)) = RULES.iter().find(|(rule, _)| *rule == text) {
        with.replace("INDENTATION", &indentation.len().to_string())
    } else if let Some(condition) = condition.filter(|text| text.starts_with("if ") || *text == "end") {
        format!("{{{{- {condition} }}}}")
    } else {
        text.to_owned()
    };
    let mut lines = String::new();
    for filled in filled.lines() {
        lines.extend([indentation, dash, filled, "\n"]);
    }
    lines
}
