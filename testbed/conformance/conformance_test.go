// Runs those conformance tests of Gateway API that assert status, and prepares a cluster for them.
//
// tools/conformance starts the control plane and the operator, and runs this program:
//
//	-test.run TestInstall      installs the CRDs of the experimental channel, and the GatewayClass
//	-test.run TestConformance  runs the tests that the file in CONFORMANCE_TESTS names, one in each line
package conformance

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
)

// The controller of the class, as `clearway operator --gateway-class` has it.
const controllerName = "clearway.dev/gateway-status"

// TestInstall installs what has to be there before the operator and the tests.
func TestInstall(t *testing.T) {
	options := conformance.DefaultOptions(t)
	files, err := filepath.Glob(filepath.Join(os.Getenv("CONFORMANCE_CRDS"), "*_*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "CONFORMANCE_CRDS names no directory with CRDs")
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			object := &unstructured.Unstructured{}
			err := documents.Decode(&object.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, file)
			if len(object.Object) > 0 {
				apply(t, options.Client, object)
			}
		}
	}
	established(t, options.Client)
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1",
		"kind":       "GatewayClass",
		"metadata":   map[string]any{"name": options.GatewayClassName},
		"spec":       map[string]any{"controllerName": controllerName},
	}}
	apply(t, options.Client, class)
}

func apply(t *testing.T, client_ client.Client, object *unstructured.Unstructured) {
	t.Helper()
	unstructured.RemoveNestedField(object.Object, "status")
	how := []client.ApplyOption{client.FieldOwner("conformance"), client.ForceOwnership}
	require.NoError(t, client_.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), how...), object.GetName())
}

// established waits until every CRD is served.
func established(t *testing.T, client_ client.Client) {
	t.Helper()
	served := func(ctx context.Context) (bool, error) {
		list := &apiextensionsv1.CustomResourceDefinitionList{}
		if err := client_.List(ctx, list); err != nil {
			return false, nil
		}
		for _, crd := range list.Items {
			ready := false
			for _, condition := range crd.Status.Conditions {
				ready = ready || condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue
			}
			if !ready {
				return false, nil
			}
		}
		classes := &gatewayv1.GatewayClassList{}
		return client_.List(ctx, classes) == nil, nil
	}
	require.NoError(t, wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, served))
}

// TestConformance runs the named tests. A name that the suite does not know is an error.
func TestConformance(t *testing.T) {
	wanted := names(t, os.Getenv("CONFORMANCE_TESTS"))
	var chosen []suite.ConformanceTest
	for _, test := range tests.ConformanceTests {
		if wanted[test.ShortName] {
			delete(wanted, test.ShortName)
			chosen = append(chosen, test)
		}
	}
	require.Empty(t, wanted, "the suite has no such tests")
	options := conformance.DefaultOptions(t)
	reported(t, options.Client, options.GatewayClassName, os.Getenv("CONFORMANCE_FEATURES"))
	cluster, err := suite.NewConformanceTestSuite(options)
	require.NoError(t, err)
	for _, test := range chosen {
		// A test whose features are not supported would be skipped, which looks like a success.
		require.True(t, cluster.SupportedFeatures.HasAll(test.Features...), "%s needs %v", test.ShortName, test.Features)
	}
	cleared(t, options.Client)
	cluster.Setup(t, chosen)
	require.NoError(t, cluster.Run(t, chosen))
}

// cleared waits until the namespaces of an earlier run are gone.
func cleared(t *testing.T, client_ client.Client) {
	t.Helper()
	gone := func(ctx context.Context) (bool, error) {
		list := &corev1.NamespaceList{}
		err := client_.List(ctx, list)
		left := slices.ContainsFunc(list.Items, func(one corev1.Namespace) bool {
			return strings.HasPrefix(one.Name, "gateway-conformance-")
		})
		return err == nil && !left, nil
	}
	require.NoError(t, wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 2*time.Minute, true, gone))
}

// reported waits until the status of the class lists these features, from which the suite infers them.
func reported(t *testing.T, client_ client.Client, class, features string) {
	t.Helper()
	want := strings.Split(features, ",")
	slices.Sort(want)
	var got []string
	same := func(ctx context.Context) (bool, error) {
		object := &gatewayv1.GatewayClass{}
		if err := client_.Get(ctx, types.NamespacedName{Name: class}, object); err != nil {
			return false, nil
		}
		got = nil
		for _, feature := range object.Status.SupportedFeatures {
			got = append(got, string(feature.Name))
		}
		return slices.Equal(got, want), nil
	}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, same)
	require.NoError(t, err, "the class reports %v, and not %v", got, want)
}

func names(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err, "CONFORMANCE_TESTS")
	defer file.Close()
	found := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name := strings.TrimSpace(lines.Text()); name != "" {
			found[name] = true
		}
	}
	return found
}
