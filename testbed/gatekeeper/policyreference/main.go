// Command policyreference evaluates a template and a constraint for one object with Gatekeeper's own packages and measures
// the CPU time of it, so that Clearway can be compared with them.
//
// It reads one JSON request from each line of its standard input and answers each with one JSON line:
//
//	{"template": {…}, "constraint": {…}, "object": {…}, "inventory": [{…}], "seconds": 0.5}
//
// The answer has "messages" and "nanoseconds", the CPU time of the whole process for one review, which begins with the
// object as JSON; or "error".
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/open-policy-agent/frameworks/constraint/pkg/apis"
	"github.com/open-policy-agent/frameworks/constraint/pkg/client/reviews"
	"github.com/open-policy-agent/frameworks/constraint/pkg/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/gator"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/gator/reader"
	mutationtypes "github.com/open-policy-agent/gatekeeper/v3/pkg/mutation/types"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/target"
	"github.com/open-policy-agent/gatekeeper/v3/pkg/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

type request struct {
	Template   *unstructured.Unstructured   `json:"template"`
	Constraint *unstructured.Unstructured   `json:"constraint"`
	Object     json.RawMessage              `json:"object"`
	Inventory  []*unstructured.Unstructured `json:"inventory"`
	Seconds    float64                      `json:"seconds"`
}

type answer struct {
	Messages    []string `json:"messages"`
	Nanoseconds float64  `json:"nanoseconds"`
	Error       string   `json:"error,omitempty"`
}

// cpuTime is the CPU time that the process used so far, the garbage collector's included.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func load(ctx context.Context, scheme *runtime.Scheme, asked *request) (gator.Client, error) {
	client, err := gator.NewOPAClient(false, gator.WithK8sCEL())
	if err != nil {
		return nil, err
	}
	template, err := reader.ToTemplate(scheme, asked.Template)
	if err != nil {
		return nil, err
	}
	if _, err := client.AddTemplate(ctx, template); err != nil {
		return nil, err
	}
	if _, err := client.AddConstraint(ctx, asked.Constraint); err != nil {
		return nil, err
	}
	for _, object := range asked.Inventory {
		if _, err := client.AddData(ctx, object); err != nil {
			return nil, err
		}
	}
	return client, nil
}

func measure(ctx context.Context, scheme *runtime.Scheme, asked *request) (*answer, error) {
	client, err := load(ctx, scheme, asked)
	if err != nil {
		return nil, err
	}
	review := func() (*types.Responses, error) {
		object := unstructured.Unstructured{}
		if err := object.UnmarshalJSON(asked.Object); err != nil {
			return nil, err
		}
		augmented := target.AugmentedUnstructured{Object: object, Source: mutationtypes.SourceTypeOriginal}
		return client.Review(ctx, augmented, reviews.EnforcementPoint(util.GatorEnforcementPoint))
	}
	// The first review is slower, and its results are those of all others.
	responses, err := review()
	if err != nil {
		return nil, err
	}
	answered := &answer{Messages: []string{}}
	for _, result := range responses.Results() {
		answered.Messages = append(answered.Messages, result.Msg)
	}
	runs := 0
	start, used := time.Now(), cpuTime()
	for time.Since(start).Seconds() < asked.Seconds || runs == 0 {
		if _, err := review(); err != nil {
			return nil, err
		}
		runs++
	}
	answered.Nanoseconds = float64(cpuTime()-used) / float64(runs)
	return answered, nil
}

func main() {
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		panic(err)
	}
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := json.NewEncoder(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if len(line) == 0 && err != nil {
			return
		}
		asked := request{}
		answered := &answer{}
		if err := json.Unmarshal(line, &asked); err != nil {
			answered.Error = err.Error()
		} else if measured, err := measure(context.Background(), scheme, &asked); err != nil {
			answered.Error = err.Error()
		} else {
			answered = measured
		}
		if err := output.Encode(answered); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
