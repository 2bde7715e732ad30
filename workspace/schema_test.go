package workspace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

var update = flag.Bool("update", false, "rewrite golden files")

func TestSchemasAreGolden(t *testing.T) {
	context, manifest := workspace.Schemas()
	for name, got := range map[string][]byte{"context": context, "manifest": manifest} {
		path := filepath.Join("testdata", name+".schema.json")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what Schemas says (%v): look at it with -update", path, err)
		}
	}
}

// compiled are the schemas of contexts and manifests.
func compiled(t *testing.T) (context, manifest *jsonschema.Schema) {
	t.Helper()
	contextText, manifestText := workspace.Schemas()
	return compile(t, "context.json", contextText), compile(t, "manifest.json", manifestText)
}

func compile(t *testing.T, name string, text []byte) *jsonschema.Schema {
	t.Helper()
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, read); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate reads YAML as an editor does.
func validate(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	r := document.NewReader("x")
	root := r.Parse([]byte(text))
	if root == nil {
		t.Fatal(r.Errors()[0])
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(root.JSON()))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(read)
}

// What Load takes is what the schemas take.
func TestSchemasTakeWorkspaces(t *testing.T) {
	context, manifest := compiled(t)
	accept := func(name string, schema *jsonschema.Schema, text string) {
		t.Helper()
		if err := validate(t, schema, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	accept("complete context", context, completeContext)
	accept("complete manifest", manifest, completeManifest)
	accept("variants only", context, "name@dev: a\nname@prod: b\nregistry@dev: x\nregistry@prod: {base@eu: y, base: z}\n")
	for _, root := range []string{"../examples", shared} {
		for _, path := range documents(t, root) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(path) == workspace.ContextFile {
				accept(path, context, string(text))
			} else if !strings.Contains(path, "dummies.invalid") {
				accept(path, manifest, string(text))
			}
		}
	}
}

func documents(t *testing.T, root string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{workspace.ContextFile, workspace.ManifestFile}, entry.Name()) {
			paths = append(paths, path)
		}
		if errors.Is(err, os.ErrNotExist) && path == root {
			return filepath.SkipAll
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestSchemasRefuse(t *testing.T) {
	context, manifest := compiled(t)
	for _, text := range []string{
		"registry: {}", "name@dev: a", "name: 1-\nregistry: {}", "name: a\nregistry: {bse: x}", "name: a\nregistry@dev: {bse: x}",
		"name: a\nregistry: {}\nregsitry@dev: x", "name: a\nregistry: {}\ncompositions: []", "name: a\nregistry: {}\nmono: {replicas: 0}",
		"name: a\nregistry: {}\nresources: {cpu: ['1']}", "name: a\nregistry: {}\nbuilder: {kind: none}", "name: a\nregistry: {}\nevicted: {}",
		"name: a\nregistry: {}\natomicity: {interval: 100}",
	} {
		if validate(t, context, text) == nil {
			t.Errorf("the schema of a context takes\n%s", text)
		}
	}
	for _, text := range []string{"nmae: a", "name: a-b", "name@dev: a", "build: {arguments: [A]}", "files: [a, a]", "events: [a]"} {
		if validate(t, manifest, text) == nil {
			t.Errorf("the schema of a manifest takes\n%s", text)
		}
	}
}

// schemaNode is as much of a schema as leads to keys.
type schemaNode struct {
	Description          string                 `json:"description"`
	Properties           map[string]*schemaNode `json:"properties"`
	AdditionalProperties json.RawMessage        `json:"additionalProperties"`
	Items                *schemaNode            `json:"items"`
	AnyOf                []*schemaNode          `json:"anyOf"`
}

// keyPaths calls visit for every key that the schema knows, with the steps to
// it; an empty step is an item of a list.
func (n *schemaNode) keyPaths(steps []string, visit func(steps []string, key *schemaNode)) {
	for name, below := range n.Properties {
		path := append(slices.Clone(steps), name)
		visit(path, below)
		below.keyPaths(path, visit)
	}
	if n.Items != nil {
		n.Items.keyPaths(append(slices.Clone(steps), ""), visit)
	}
	var other schemaNode
	if json.Unmarshal(n.AdditionalProperties, &other) == nil {
		other.keyPaths(append(slices.Clone(steps), "any"), visit)
	}
	for _, one := range n.AnyOf {
		one.keyPaths(steps, visit)
	}
}

func eachKey(t *testing.T, text []byte, visit func(steps []string, key *schemaNode)) {
	t.Helper()
	var root schemaNode
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	root.keyPaths(nil, visit)
}

func TestEveryKeyIsDescribed(t *testing.T) {
	context, manifest := workspace.Schemas()
	for _, text := range [][]byte{context, manifest} {
		eachKey(t, text, func(steps []string, key *schemaNode) {
			if key.Description == "" {
				t.Errorf("%q has no description", steps)
			}
		})
	}
}

// Every key of both files, misspelled in several ways, is found where it
// stands, and the right one is suggested.
func TestEveryKeyMisspelled(t *testing.T) {
	context, manifest := workspace.Schemas()
	count := 0
	for path, text := range map[string][]byte{contextPath: context, manifestPath: manifest} {
		eachKey(t, text, func(steps []string, _ *schemaNode) {
			for _, wrong := range misspell(steps[len(steps)-1]) {
				assertSuggested(t, path, steps, wrong, wrong)
				if path == contextPath { // what another environment says counts too
					assertSuggested(t, path, steps, wrong, wrong+"@elsewhere")
				}
				count++
			}
		})
	}
	if count < 300 {
		t.Errorf("tried %d mistakes, want more", count)
	}
}

// misspell swaps two letters, forgets one, doubles one and types another.
func misspell(key string) []string {
	middle := len(key) / 2
	before, letter, after := key[:middle], key[middle:middle+1], key[middle+1:]
	return []string{
		before[:len(before)-1] + letter + before[len(before)-1:] + after,
		before + after,
		before + letter + letter + after,
		before + "q" + after,
	}
}

func assertSuggested(t *testing.T, path string, steps []string, wrong, stated string) {
	t.Helper()
	right := steps[len(steps)-1]
	if wrong == right {
		return
	}
	text, column := nested(steps[:len(steps)-1], stated)
	_, err := workspace.Load(files(path, text), "", nil)
	list, ok := errors.AsType[*workspace.Errors](err)
	if !ok {
		t.Errorf("Load takes\n%s", text)
		return
	}
	line := strings.Count(text, "\n")
	fits := func(e *workspace.Error) bool {
		return e.File == path && e.Line == line && e.Column == column && e.Fix == `did you mean "`+right+`"?`
	}
	if !slices.ContainsFunc(list.List, fits) {
		t.Errorf("%v\nwant %s:%d:%d with %q suggested in\n%s", err, path, line, column, right, text)
	}
}

// nested is YAML with a key below steps, alone in its last line.
func nested(steps []string, key string) (text string, column int) {
	var out strings.Builder
	column = 1
	dash := ""
	for _, step := range steps {
		if step == "" {
			dash = "- "
			continue
		}
		out.WriteString(strings.Repeat(" ", column-1) + dash + step + ":\n")
		column += len(dash) + 2
		dash = ""
	}
	out.WriteString(strings.Repeat(" ", column-1) + dash + key + ": x\n")
	return out.String(), column + len(dash)
}
