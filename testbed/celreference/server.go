package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type server struct {
	schemas    map[string]*schema.Structural
	validators map[string]*validator
	base       *environment.EnvSet
}

func newServer() *server {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	return &server{schemas: map[string]*schema.Structural{}, validators: map[string]*validator{}, base: base}
}

// compiled is an expression that was accepted, with what it is evaluated on.
type compiled struct {
	program     celgo.Program
	activation  any
	context     context.Context
	estimate    *uint64
	cardinality *uint64
}

func (s *server) answer(line []byte) (reply answer) {
	defer func() {
		if caught := recover(); caught != nil {
			reply = answer{Error: fmt.Sprintf("panic: %v", caught), Class: "panic"}
		}
	}()
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return answer{Refused: "request: " + err.Error()}
	}
	if r.Define != "" {
		if err := s.define(r.Define, r.Schema); err != nil {
			return answer{Refused: "schema: " + err.Error()}
		}
		return answer{}
	}
	if r.Validate {
		return s.validate(r)
	}
	compile := s.compileAdmission
	if r.Env == "crd" {
		compile = s.compileRule
	}
	if r.Bench != "" {
		return s.bench(r, compile)
	}
	c, err := compile(r)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	reply = evaluate(c)
	reply.Estimate, reply.Cardinality = c.estimate, c.cardinality
	return reply
}

func (s *server) define(name string, raw json.RawMessage) error {
	var external apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(raw, &external); err != nil {
		return err
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&external, &internal, nil); err != nil {
		return err
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return err
	}
	// What is only compiled against need not be a whole schema.
	if checker, err := newValidator(structural, &internal); err == nil {
		s.validators[name] = checker
	}
	s.schemas[name] = structural
	return nil
}

func (s *server) compileRule(r request) (*compiled, error) {
	var name string
	if err := json.Unmarshal(r.Schema, &name); err != nil {
		return nil, err
	}
	structural, found := s.schemas[name]
	if !found {
		return nil, fmt.Errorf("no schema %q", name)
	}
	declType := model.SchemaDeclType(structural, true)
	if declType == nil {
		return nil, fmt.Errorf("the schema has no CEL type")
	}
	result := &compiled{context: context.Background()}
	if r.Any {
		program, err := s.compileAny(declType, r)
		if err != nil {
			return nil, err
		}
		result.program = program
	} else {
		one := *structural
		one.XValidations = apiextensionsv1.ValidationRules{{Rule: r.Expr, OptionalOldSelf: &r.Optional}}
		rules, err := schemacel.Compile(&one, declType, celconfig.PerCallLimit, s.base, schemacel.NewExpressionsEnvLoader())
		if err != nil {
			return nil, err
		}
		if rules[0].Error != nil {
			return nil, fmt.Errorf("%s", rules[0].Error.Detail)
		}
		if rules[0].Program == nil {
			return nil, fmt.Errorf("the rule is empty")
		}
		result.program = rules[0].Program
		result.estimate, result.cardinality = &rules[0].MaxCost, &rules[0].MaxCardinality
	}
	activation, err := ruleActivation(structural, r)
	result.activation = activation
	return result, err
}

func ruleActivation(structural *schema.Structural, r request) (any, error) {
	object, err := decode(r.Object)
	if err != nil {
		return nil, err
	}
	old, err := decode(r.Old)
	if err != nil {
		return nil, err
	}
	whole := model.WithTypeAndObjectMeta(structural)
	activation := map[string]any{schemacel.ScopedVarName: schemacel.UnstructuredToVal(object, whole)}
	switch {
	case r.Optional && old != nil:
		activation[schemacel.OldScopedVarName] = types.OptionalOf(schemacel.UnstructuredToVal(old, whole))
	case r.Optional:
		activation[schemacel.OldScopedVarName] = types.OptionalNone
	case old != nil:
		activation[schemacel.OldScopedVarName] = schemacel.UnstructuredToVal(old, whole)
	}
	return activation, nil
}

// compileAny compiles as a rule of a CRD is compiled, for results of every type.
func (s *server) compileAny(declType *apiservercel.DeclType, r request) (celgo.Program, error) {
	scoped := declType.MaybeAssignTypeName("selfType")
	oldType := scoped.CelType()
	if r.Optional {
		oldType = types.NewOptionalType(oldType)
	}
	set, err := s.base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: []celgo.EnvOption{
			celgo.Variable(schemacel.ScopedVarName, scoped.CelType()),
			celgo.Variable(schemacel.OldScopedVarName, oldType),
		},
		DeclTypes: []*apiservercel.DeclType{scoped},
	})
	if err != nil {
		return nil, err
	}
	env := set.NewExpressionsEnv()
	ast, issues := env.Compile(r.Expr)
	if issues != nil {
		return nil, issues.Err()
	}
	return env.Program(ast,
		celgo.CostLimit(celconfig.PerCallLimit),
		celgo.CostTracking(&library.CostEstimator{}),
		celgo.InterruptCheckFrequency(celconfig.CheckFrequency),
	)
}

type expression struct{ name, text string }

func (e expression) GetName() string            { return e.name }
func (e expression) GetExpression() string      { return e.text }
func (e expression) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType} }

func (s *server) compileAdmission(r request) (*compiled, error) {
	compiler, err := plugincel.NewCompositedCompiler(s.base)
	if err != nil {
		return nil, err
	}
	options := plugincel.OptionalVariableDeclarations{HasParams: true}
	for _, v := range r.Variables {
		result := compiler.CompileAndStoreVariable(expression{v.Name, v.Expr}, options, environment.NewExpressions)
		if result.Error != nil {
			return nil, result.Error
		}
	}
	result := compiler.CompileCELExpression(expression{"", r.Expr}, options, environment.NewExpressions)
	if result.Error != nil {
		return nil, result.Error
	}
	activation := map[string]any{}
	for name, raw := range map[string]json.RawMessage{
		"object": r.Object, "oldObject": r.Old, "params": r.Params, "request": r.Request, "namespaceObject": r.Namespace,
	} {
		value, err := decode(raw)
		if err != nil {
			return nil, err
		}
		activation[name] = value
	}
	ctx := compiler.CreateContext(context.Background())
	activation["variables"] = ctx.Variables(activation)
	return &compiled{program: result.Program, activation: activation, context: ctx}, nil
}

func evaluate(c *compiled) answer {
	value, details, err := c.program.ContextEval(c.context, c.activation)
	var reply answer
	if details != nil {
		reply.Cost = details.ActualCost()
	}
	if err != nil {
		reply.Error, reply.Class = err.Error(), class(err.Error())
		return reply
	}
	reply.Value = show(value)
	return reply
}

// class names the kind of an error as Clearway does.
func class(message string) string {
	for _, known := range []struct{ part, class string }{
		{"no such overload", "no-such-overload"},
		{"no such key", "no-such-key"},
		{"index out of bounds", "index-out-of-bounds"},
		{"out of range in list size", "index-out-of-bounds"},
		{"division by zero", "division-by-zero"},
		{"modulus by zero", "modulus-by-zero"},
		{"overflow", "overflow"},
		{"cost limit exceeded", "cost-limit"},
		{"no such attribute", "not-bound"},
		{"optional.none() dereference", "no-value"},
		{"NaN values cannot be ordered", "not-ordered"},
		{"type conversion error", "conversion"},
	} {
		if strings.Contains(message, known.part) {
			return known.class
		}
	}
	return "other"
}

func (s *server) bench(r request, compile func(request) (*compiled, error)) answer {
	c, err := compile(r)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	run := func() { evaluateOnly(c) }
	if r.Bench == "compile" {
		run = func() { compile(r) }
	}
	start, count := time.Now(), 0
	for time.Since(start).Seconds() < r.Seconds {
		run()
		count++
	}
	return answer{Nanoseconds: float64(time.Since(start).Nanoseconds()) / float64(count)}
}

func evaluateOnly(c *compiled) ref.Val {
	value, _, _ := c.program.ContextEval(c.context, c.activation)
	return value
}
