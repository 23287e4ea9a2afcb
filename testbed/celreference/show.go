package main

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	apiservercel "k8s.io/apiserver/pkg/cel"
)

// show writes a value in one form for both engines: the type's name and the content, maps in the order of their keys.
func show(value ref.Val) string {
	switch v := value.(type) {
	case types.Null:
		return "null"
	case types.Bool:
		return strconv.FormatBool(bool(v))
	case types.Int:
		return fmt.Sprintf("int(%d)", int64(v))
	case types.Uint:
		return fmt.Sprintf("uint(%d)", uint64(v))
	case types.Double:
		return fmt.Sprintf("double(%016x)", math.Float64bits(float64(v)))
	case types.String:
		return fmt.Sprintf("string(%x)", string(v))
	case types.Bytes:
		return fmt.Sprintf("bytes(%x)", []byte(v))
	case types.Duration:
		return fmt.Sprintf("duration(%d)", int64(v.Duration))
	case types.Timestamp:
		return "timestamp(" + v.Time.Format(time.RFC3339Nano) + ")"
	case *types.Type:
		return "type(" + v.TypeName() + ")"
	case *types.Optional:
		if v.HasValue() {
			return "optional(" + show(v.GetValue()) + ")"
		}
		return "optional()"
	case apiservercel.Quantity:
		return "quantity(" + v.Quantity.AsDec().String() + ")"
	case *apiservercel.Quantity:
		return "quantity(" + v.Quantity.AsDec().String() + ")"
	case apiservercel.IP:
		return "ip(" + v.Addr.String() + ")"
	case apiservercel.CIDR:
		return "cidr(" + v.Prefix.String() + ")"
	case apiservercel.URL:
		return "url(" + v.URL.String() + ")"
	case apiservercel.Semver:
		return "semver(" + v.Version.String() + ")"
	case apiservercel.Format:
		return "format(" + v.Name + ")"
	case traits.Mapper:
		var entries []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			entries = append(entries, show(key)+":"+show(v.Get(key)))
		}
		sort.Strings(entries)
		return "{" + strings.Join(entries, ",") + "}"
	case traits.Lister:
		var elements []string
		for it := v.Iterator(); it.HasNext() == types.True; {
			elements = append(elements, show(it.Next()))
		}
		return "[" + strings.Join(elements, ",") + "]"
	case *types.Err:
		return "error"
	default:
		return fmt.Sprintf("other(%T)", value)
	}
}
