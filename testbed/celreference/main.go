// Command celreference evaluates CEL expressions, and validates custom resources, with the API server's own packages, so that
// Clearway can be compared with them without a cluster.
//
// It reads one JSON request from each line of its standard input and answers each with one JSON line:
//
//	{"define": "name", "schema": {…}}                      remembers a structural schema (answered with {})
//	{"env": "crd", "schema": "name", "expr": "…", "object": …, "old": …}
//	{"env": "admission", "expr": "…", "object": …, "old": …, "params": …, "request": …, "namespace": …, "variables": […]}
//	{"bench": "evaluate"|"compile", "seconds": 1.0, …}     measures such an expression; answers nanoseconds per run
//	{"validate": true, "schema": "name", "object": …}      validates an object as it would be on being created
//	{"validate": true, "bench": "validate", "seconds": 1.0, …}     measures that
//
// The answer has "refused" (why the expression is not accepted), or "value" and "type", or "error" and "class", and
// "cost" and "estimate" where the API server has them; of a validation it has "violations".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

type request struct {
	Define    string          `json:"define"`
	Schema    json.RawMessage `json:"schema"`
	Env       string          `json:"env"`
	Expr      string          `json:"expr"`
	Object    json.RawMessage `json:"object"`
	Old       json.RawMessage `json:"old"`
	Params    json.RawMessage `json:"params"`
	Request   json.RawMessage `json:"request"`
	Namespace json.RawMessage `json:"namespace"`
	Variables []variable      `json:"variables"`
	// Optional makes oldSelf optional.
	Optional bool `json:"optional"`
	// Any accepts results of every type where a rule must be a bool.
	Any bool `json:"any"`
	// Validate checks an object against a whole schema, and needs no expression.
	Validate bool    `json:"validate"`
	Bench    string  `json:"bench"`
	Seconds  float64 `json:"seconds"`
}

type variable struct {
	Name string `json:"name"`
	Expr string `json:"expr"`
}

type answer struct {
	Refused  string  `json:"refused,omitempty"`
	Value    string  `json:"value,omitempty"`
	Error    string  `json:"error,omitempty"`
	Class    string  `json:"class,omitempty"`
	Cost     *uint64 `json:"cost,omitempty"`
	Estimate *uint64 `json:"estimate,omitempty"`
	// Cardinality is how often the rule may run on one object if nothing above it is limited.
	Cardinality *uint64 `json:"cardinality,omitempty"`
	Nanoseconds float64 `json:"nanoseconds,omitempty"`
	// Violations says why an object is refused; empty if it is not.
	Violations *[]string `json:"violations,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	s := newServer()
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			reply, marshalErr := json.Marshal(s.answer(line))
			if marshalErr != nil {
				reply = []byte(fmt.Sprintf(`{"refused":%q}`, marshalErr.Error()))
			}
			out.Write(reply)
			out.WriteByte('\n')
			// Whoever waits for an answer gets it; whoever sends many at once is not slowed down.
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err != nil {
			out.Flush()
			return
		}
	}
}

// decode reads JSON as the API server does: numbers are int64 or float64.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var value any
	err := utiljson.Unmarshal(raw, &value)
	return value, err
}
