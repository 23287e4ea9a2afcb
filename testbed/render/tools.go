//go:build tools

// Package render pins the programs that render the manifests in deploy/.
package render

import (
	_ "helm.sh/helm/v4/cmd/helm"
	_ "sigs.k8s.io/kustomize/kustomize/v5"
)
