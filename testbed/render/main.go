// Command render prints what Helm and kustomize make of a directory, with their own packages, so that the forms of the
// installation can be compared without building both programs whole.
//
//	render helm CHART NAMESPACE VALUES.json      as `helm template clearway CHART --namespace NAMESPACE --values VALUES.json`
//	render kustomize DIRECTORY                   as `kustomize build DIRECTORY`
package main

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The cluster that templates ask about: one with the Prometheus operator.
const kubeVersion, monitoring = "1.36.0", "monitoring.coreos.com/v1"

func main() {
	text, err := render(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

func render(arguments []string) (string, error) {
	switch {
	case len(arguments) == 4 && arguments[0] == "helm":
		return helm(arguments[1], arguments[2], arguments[3])
	case len(arguments) == 2 && arguments[0] == "kustomize":
		return kustomize(arguments[1])
	default:
		return "", fmt.Errorf("usage: render helm CHART NAMESPACE VALUES.json | render kustomize DIRECTORY")
	}
}

func helm(directory, namespace, file string) (string, error) {
	chart, err := loader.Load(directory)
	if err != nil {
		return "", err
	}
	given, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer given.Close()
	values, err := loader.LoadValues(given)
	if err != nil {
		return "", err
	}
	version, err := common.ParseKubeVersion(kubeVersion)
	if err != nil {
		return "", err
	}
	cluster := common.DefaultCapabilities.Copy()
	cluster.KubeVersion = *version
	cluster.APIVersions = append(cluster.APIVersions, monitoring)
	release := common.ReleaseOptions{Name: "clearway", Namespace: namespace, Revision: 1, IsInstall: true}
	// Also checks the values against the chart's schema.
	merged, err := util.ToRenderValues(chart, values, release, cluster)
	if err != nil {
		return "", err
	}
	rendered, err := engine.Render(chart, merged)
	if err != nil {
		return "", err
	}
	var documents []string
	for name, text := range rendered {
		if extension := path.Ext(name); extension == ".yaml" && strings.TrimSpace(text) != "" {
			documents = append(documents, "---\n# Source: "+name+"\n"+text+"\n")
		}
	}
	slices.Sort(documents)
	return strings.Join(documents, ""), nil
}

func kustomize(directory string) (string, error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return "", err
	}
	text, err := objects.AsYaml()
	return string(text), err
}
