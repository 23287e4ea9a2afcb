package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// validator checks objects against one schema, as the API server does when a custom resource is created: its structure,
// embedded objects, lists with keys, and, if all of that is valid, its rules.
type validator struct {
	structural *schema.Structural
	schema     validation.SchemaValidator
	rules      *schemacel.Validator
}

func newValidator(structural *schema.Structural, props *apiextensions.JSONSchemaProps) (*validator, error) {
	schemaValidator, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		return nil, err
	}
	rules := schemacel.NewValidator(structural, true, celconfig.PerCallLimit)
	return &validator{structural: structural, schema: schemaValidator, rules: rules}, nil
}

func (v *validator) validate(object map[string]any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, object, v.schema)
	errs = append(errs, objectmeta.Validate(nil, object, v.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	if len(errs) == 0 && v.rules != nil {
		found, _ := v.rules.Validate(context.Background(), nil, v.structural, object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, found...)
	}
	return errs
}

// validate answers with the fields that are refused, or with the time that one validation takes.
func (s *server) validate(r request) answer {
	var name string
	if err := json.Unmarshal(r.Schema, &name); err != nil {
		return answer{Refused: err.Error()}
	}
	v, found := s.validators[name]
	if !found {
		return answer{Refused: fmt.Sprintf("no schema %q", name)}
	}
	decoded, err := decode(r.Object)
	if err != nil {
		return answer{Refused: err.Error()}
	}
	object, isMap := decoded.(map[string]any)
	if !isMap {
		return answer{Refused: "the object is not a map"}
	}
	if r.Bench == "" {
		violations := []string{}
		for _, err := range v.validate(object) {
			violations = append(violations, err.Error())
		}
		return answer{Violations: &violations}
	}
	start, count := time.Now(), 0
	for time.Since(start).Seconds() < r.Seconds {
		v.validate(object)
		count++
	}
	return answer{Nanoseconds: float64(time.Since(start).Nanoseconds()) / float64(count)}
}
