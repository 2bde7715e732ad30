package failpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"toa.io/toa/internal/failpoint"
)

// A point that All does not list cannot be struck.
func TestAllListsEachPoint(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "failpoint.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []failpoint.Name
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for _, value := range spec.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, failpoint.Name(text))
		}
		return false
	})
	listed := failpoint.All()
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(declared, listed) {
		t.Errorf("declared are\n%q\nAll lists\n%q", declared, listed)
	}
}
