{{/* Options of a command line from a map: a list is repeated, true is a flag, false and absent options are left out. */}}
{{- define "clearway.options" -}}
{{- $lines := list }}
{{- range $name, $values := . }}
{{- if kindIs "slice" $values }}
{{- range $values }}
{{- $lines = append $lines (printf "- %s" (printf "--%s=%v" $name . | quote)) }}
{{- end }}
{{- else if eq (toString $values) "true" }}
{{- $lines = append $lines (printf "- --%s" $name) }}
{{- else if ne (toString $values) "false" }}
{{- $lines = append $lines (printf "- %s" (printf "--%s=%v" $name $values | quote)) }}
{{- end }}
{{- end }}
{{- join "\n" $lines }}
{{- end }}

{{/* The ConfigMap of the release keys is immutable: other keys are another ConfigMap, and the pods are replaced. */}}
{{- define "clearway.releaseKeysName" -}}
clearway-release-keys-{{ .Values.releaseKeys | toJson | sha256sum | trunc 10 }}
{{- end }}
