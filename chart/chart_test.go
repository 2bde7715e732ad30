package chart_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/workspace"
)

var update = flag.Bool("update", false, "rewrite golden files")

const digest = "sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865"

// shop is a workspace with a declared composition of two and a derived one.
func shop() chart.Input {
	orders := &workspace.Component{
		ID: "store.orders", Namespace: "store", Name: "orders", Label: "store-orders",
		Contract: json.RawMessage(`{"operations":{"transit":{"type":"transition","scope":"object"}},"entity":{"properties":{"total":{"type":"number","maximum":1e6}}}}`),
	}
	carts := &workspace.Component{
		ID: "store.carts", Namespace: "store", Name: "carts", Label: "store-carts", Version: "010",
		Contract: json.RawMessage(`{}`),
	}
	mail := &workspace.Component{ID: "default.Mail", Namespace: "default", Name: "Mail", Label: "default-mail"}
	return chart.Input{
		Workspace: &workspace.Workspace{
			Environment: "staging",
			Context: workspace.Context{
				Name:        "My_Shop",
				Version:     "1.10.0-rc.1",
				Description: "Orders: taken & sent\n# every day",
				Registry:    workspace.Registry{Base: "registry.example.com", Credentials: "pull-secret"},
			},
			Components: []*workspace.Component{mail, carts, orders},
			Compositions: []*workspace.Composition{
				{Name: "Store", Slug: "store", Components: []*workspace.Component{orders, carts}, Replicas: 3},
				{Name: "default-mail", Slug: "default-mail", Components: []*workspace.Component{mail}, Replicas: 2, Derived: true},
			},
		},
		References: map[graph.ID]string{
			"composition/store":        "registry.example.com/my_shop/composition-store:00112233445566778899aabbccddeeff@" + digest,
			"composition/default-mail": "registry.example.com/my_shop/composition-default-mail:0123456789e01234567890123456789a@" + digest,
		},
		Versions: map[string]string{
			"store.orders": "ffeeddccbbaa99887766554433221100",
			"store.carts":  "010",
			"default.Mail": "1e234567890123456789012345678901",
		},
	}
}

func TestNewGolden(t *testing.T) {
	c, err := chart.New(shop())
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "Chart.yaml", content(t, c, "Chart.yaml"))
	golden(t, "values.yaml", content(t, c, "values.yaml"))
}

func TestNewNamesTheChart(t *testing.T) {
	c, err := chart.New(shop())
	if err != nil {
		t.Fatal(err)
	}
	if c.Name != "my-shop" || c.Version != "1.10.0-rc.1" {
		t.Errorf("chart is %s %s, want my-shop 1.10.0-rc.1", c.Name, c.Version)
	}
}

func TestNewIsRepeatable(t *testing.T) {
	first, err := chart.New(shop())
	if err != nil {
		t.Fatal(err)
	}
	second, err := chart.New(shop())
	if err != nil {
		t.Fatal(err)
	}
	equal := func(a, b chart.File) bool { return a.Path == b.Path && string(a.Data) == string(b.Data) }
	if !slices.EqualFunc(first.Files, second.Files, equal) {
		t.Error("two charts of one workspace differ")
	}
}

// The files beside this test are the chart: a template that is not embedded
// would be missing without a word.
func TestNewTakesEveryTemplate(t *testing.T) {
	c, err := chart.New(shop())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Chart.yaml", "values.schema.json", "values.yaml"}
	entries, err := os.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		want = append(want, "templates/"+e.Name())
	}
	slices.Sort(want)
	var got []string
	for _, f := range c.Files {
		got = append(got, f.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("files are %q, want %q", got, want)
	}
}

// values.yaml of the directory documents what New writes: same keys, same order.
func TestDefaultsNameEveryValue(t *testing.T) {
	data, err := os.ReadFile("values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := chart.New(single())
	if err != nil {
		t.Fatal(err)
	}
	documented, written := keys(t, data), keys(t, content(t, c, "values.yaml"))
	if !slices.Equal(documented, written) {
		t.Errorf("values.yaml documents %q, New writes %q", documented, written)
	}
}

func TestNewLeavesOutWhatIsNotStated(t *testing.T) {
	in := shop()
	in.Workspace.Context.Registry.Credentials = ""
	in.Workspace.Context.Description = ""
	c, err := chart.New(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := keys(t, content(t, c, "values.yaml")); slices.Contains(got, "credentials") {
		t.Errorf("values have %q, want no credentials", got)
	}
	if got := keys(t, content(t, c, "Chart.yaml")); slices.Contains(got, "description") {
		t.Errorf("Chart.yaml has %q, want no description", got)
	}
}

func TestNewListsSharedComponentsOnce(t *testing.T) {
	in := shop()
	in.Workspace.Compositions[1].Components = in.Workspace.Compositions[0].Components
	c, err := chart.New(in)
	if err != nil {
		t.Fatal(err)
	}
	var values struct{ Components []string }
	if err := yaml.Unmarshal(content(t, c, "values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	if want := []string{"store-orders", "store-carts"}; !slices.Equal(values.Components, want) {
		t.Errorf("components are %q, want %q", values.Components, want)
	}
}

func TestNewRefusesWhatIsNotPinned(t *testing.T) {
	for name, reference := range map[string]string{
		"nothing":       "",
		"tag only":      "registry.example.com/shop/edge:0123",
		"digest only":   "registry.example.com/shop/edge@" + digest,
		"short digest":  "registry.example.com/shop/edge:0123@sha256:4355",
		"other digest":  "registry.example.com/shop/edge:0123@md5:" + digest[7:],
		"upper case":    "registry.example.com/shop/edge:0123@" + strings.ToUpper(digest),
		"second line":   "registry.example.com/shop/edge:0123@" + digest + "\n",
		"space":         "registry.example.com/shop /edge:0123@" + digest,
		"port, no tag":  "localhost:5000/edge@" + digest,
		"two digests":   "edge:0123@" + digest + "@" + digest,
		"empty tag":     "edge:@" + digest,
		"no repository": ":0123@" + digest,
	} {
		t.Run(name, func(t *testing.T) {
			in := shop()
			in.References["composition/store"] = reference
			_, err := chart.New(in)
			var unpinned *chart.UnpinnedError
			if !errors.As(err, &unpinned) {
				t.Fatalf("New with %q: error %v, want *UnpinnedError", reference, err)
			}
			if unpinned.ID != "composition/store" || unpinned.Reference != reference {
				t.Errorf("error names %s and %q", unpinned.ID, unpinned.Reference)
			}
		})
	}
}

func TestNewTakesAnyPinnedImage(t *testing.T) {
	for _, reference := range []string{
		"edge:1@" + digest,
		"localhost:5000/edge:1@" + digest,
		"shop/composition-edge:00112233445566778899aabbccddeeff@" + digest,
	} {
		in := shop()
		in.References["composition/store"] = reference
		if _, err := chart.New(in); err != nil {
			t.Errorf("New with %q: %v", reference, err)
		}
	}
}

func TestNewRefusesUnknownVersions(t *testing.T) {
	in := shop()
	delete(in.Versions, "store.orders")
	_, err := chart.New(in)
	if err == nil || !strings.Contains(err.Error(), "store.orders") {
		t.Errorf("New without a version: error %v, want one that names store.orders", err)
	}
}

func content(t *testing.T, c *chart.Chart, path string) []byte {
	t.Helper()
	for _, f := range c.Files {
		if f.Path == path {
			return f.Data
		}
	}
	t.Fatalf("chart has no %s", path)
	return nil
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs from %s (-update rewrites it):\n%s", name, path, got)
	}
}

// keys are the keys of a document as they stand.
func keys(t *testing.T, document []byte) []string {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal(document, &node); err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := 0; i < len(node.Content[0].Content); i += 2 {
		all = append(all, node.Content[0].Content[i].Value)
	}
	return all
}
