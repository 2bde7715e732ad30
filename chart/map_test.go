package chart_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"sort"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"toa.io/toa/chart"
	"toa.io/toa/workspace"
)

// components is the key "map" of values.yaml as a reader finds it.
type components struct{ Directory, File, Components, Gzip string }

func mapOf(t *testing.T, in chart.Input) components {
	t.Helper()
	c, err := chart.New(in)
	if err != nil {
		t.Fatal(err)
	}
	var values struct{ Map components }
	if err := yaml.Unmarshal(content(t, c, "values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	return values.Map
}

// many are n components whose contracts hold a description each.
func many(n int, description func() string) chart.Input {
	in := shop()
	in.Workspace.Components = nil
	for i := range n {
		id := fmt.Sprintf("store.c%05d", i)
		contract, _ := json.Marshal(map[string]any{"description": description(), "list": []int{1, 2}})
		in.Workspace.Components = append(in.Workspace.Components, &workspace.Component{
			ID: id, Label: fmt.Sprintf("store-c%05d", i), Contract: contract,
		})
		in.Versions[id] = fmt.Sprintf("%032x", i)
	}
	return in
}

func TestMapGolden(t *testing.T) {
	golden(t, "components.json", []byte(mapOf(t, shop()).Components))
}

func TestMapPutsItsOwnVersionFirst(t *testing.T) {
	in := shop()
	in.Workspace.Components[1].Contract = json.RawMessage(`{"b":1,"version":"stolen","a":2}`)
	got := mapOf(t, in).Components
	if want := "\"store.carts\": {\n    \"version\": \"010\",\n    \"a\": 2,\n    \"b\": 1\n  }"; !strings.Contains(got, want) {
		t.Errorf("map is\n%s\nwant in it\n%s", got, want)
	}
}

func TestMapRefusesContractsThatAreNoObjects(t *testing.T) {
	for _, contract := range []string{`[]`, `"a"`, `{`, `{"a":}`, "{}{}", "nul"} {
		in := shop()
		in.Workspace.Components[0].Contract = json.RawMessage(contract)
		if _, err := chart.New(in); err == nil || !strings.Contains(err.Error(), "default.Mail") {
			t.Errorf("New with contract %s: error %v, want one that names default.Mail", contract, err)
		}
	}
}

func TestMapIsCompressedWhenLarge(t *testing.T) {
	in := many(8000, func() string { return strings.Repeat("every day ", 10) })
	path := chart.MapPath(in.Workspace)
	m := mapOf(t, in)
	if path != "/etc/toa/.map.json.gz" || m.Directory+"/"+m.File != path {
		t.Fatalf("MapPath is %s, values say %s/%s", path, m.Directory, m.File)
	}
	if m.Components != "" {
		t.Error("values hold the map twice")
	}
	data, header := uncompress(t, m.Gzip)
	if !header.ModTime.IsZero() || header.Name != "" {
		t.Errorf("gzip header has time %v and name %q", header.ModTime, header.Name)
	}
	var decoded map[string]struct{ Version string }
	if err := json.Unmarshal(data, &decoded); err != nil {
		t.Fatal(err)
	}
	if len(decoded) != 8000 || decoded["store.c00010"].Version != in.Versions["store.c00010"] {
		t.Errorf("map has %d components, want 8000 with their versions", len(decoded))
	}
}

// What images name and what the chart mounts must agree at every size: the
// first is decided before versions are known.
func TestMapTurnsAtItsLimit(t *testing.T) {
	sized := func(n int) chart.Input { return many(n, func() string { return "every day" }) }
	first := sort.Search(10000, func(n int) bool { return strings.HasSuffix(chart.MapPath(sized(n).Workspace), ".gz") })

	plain := mapOf(t, sized(first-1))
	if plain.File != "components.json" || plain.Gzip != "" || len(plain.Components) > 700<<10 {
		t.Errorf("map below the limit is %s with %d bytes", plain.File, len(plain.Components))
	}
	compressed := mapOf(t, sized(first))
	data, _ := uncompress(t, compressed.Gzip)
	if compressed.File != ".map.json.gz" || compressed.Components != "" || len(data) < 699<<10 || len(data) > 701<<10 {
		t.Errorf("map above the limit is %s of %d bytes", compressed.File, len(data))
	}
}

func TestMapOfSmallWorkspaceIsPlain(t *testing.T) {
	if got := chart.MapPath(shop().Workspace); got != "/etc/toa/components.json" {
		t.Errorf("MapPath is %s", got)
	}
	if got := chart.MapPath(&workspace.Workspace{}); got != "/etc/toa/components.json" {
		t.Errorf("MapPath without components is %s", got)
	}
}

func TestMapRefusesWhatNoConfigMapHolds(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	in := many(2000, func() string {
		noise := make([]byte, 1000)
		_, _ = random.Read(noise) // it never fails
		return base64.StdEncoding.EncodeToString(noise)
	})
	_, err := chart.New(in)
	var size *chart.MapSizeError
	if !errors.As(err, &size) || size.Size < 950<<10 || size.Hint() == "" {
		t.Fatalf("New: error %v, want *MapSizeError with the size", err)
	}
	if !strings.Contains(err.Error(), fmt.Sprint((size.Size+1023)/1024, " KiB")) {
		t.Errorf("error %q does not name the size", err)
	}
}

func TestMapKeepsEveryCharacter(t *testing.T) {
	for _, text := range []string{
		"", " ", "\t", "\n", "\r\n", "\x00", "\x1b[31m", "\x7f", "\u0080", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\uffff",
		"😀", "---", "{{ .Values }}", "# no", "'", `"`, `\`, `\u2028`, "заказы", "</script>", "&",
	} {
		raw, _ := json.Marshal(map[string]string{"text": text})
		for _, contract := range []string{string(raw), `{"text":"` + text + `"}`} {
			if !json.Valid([]byte(contract)) {
				continue // not every character may stand as it is
			}
			in := shop()
			in.Workspace.Components[0].Contract = json.RawMessage(contract)
			checkMap(t, in, in.Workspace.Components[0])
		}
	}
}

func FuzzMap(f *testing.F) {
	f.Add([]byte(`{}`), "default.Mail")
	f.Add([]byte("{\"a\": [1e6, 010, \"\u2028\", null, {\"b\": {}}]}"), "a\u0085b")
	f.Add([]byte(`{"a":"\u2028\\"," b":[[],[{}]]}`), "on")
	f.Fuzz(func(t *testing.T, contract []byte, id string) {
		var declared map[string]any
		if json.Unmarshal(contract, &declared) != nil || !validUTF8(contract, id) {
			t.Skip("not an object of valid text")
		}
		in := shop()
		c := in.Workspace.Components[0]
		c.ID, c.Contract = id, contract
		in.Versions[id] = "0123456789abcdef0123456789abcdef"
		checkMap(t, in, c)
	})
}

// checkMap reads the map of a chart and compares the entry of c with what c declares.
func checkMap(t *testing.T, in chart.Input, c *workspace.Component) {
	t.Helper()
	var got map[string]map[string]any
	if err := json.Unmarshal([]byte(mapOf(t, in).Components), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	if err := json.Unmarshal(c.Contract, &want); err != nil {
		t.Fatal(err)
	}
	if want == nil {
		want = map[string]any{} // a contract "null"
	}
	want["version"] = in.Versions[c.ID]
	if !reflect.DeepEqual(got[c.ID], want) {
		t.Errorf("map has %#v for %s, want %#v", got[c.ID], c.ID, want)
	}
}

func uncompress(t *testing.T, encoded string) ([]byte, gzip.Header) {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data, r.Header
}

func validUTF8(contract []byte, id string) bool {
	return strings.ToValidUTF8(string(contract)+id, "?") == string(contract)+id
}

func BenchmarkMapPath(b *testing.B) {
	in := many(2500, func() string { return "every day" })
	for b.Loop() {
		chart.MapPath(in.Workspace)
	}
}
