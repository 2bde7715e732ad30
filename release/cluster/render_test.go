package cluster

import (
	"strings"
	"testing"

	"toa.io/toa/release"
)

// onPaper is a bed that needs no cluster: charts can be made of it.
func onPaper(t *testing.T) *bed {
	t.Helper()
	return &bed{TB: t, Cluster: &Cluster{Target: release.Target{Name: "shop", Namespace: "prod"}}, image: "registry.example.com/shop/edge:0011"}
}

func (b *bed) render(units []unit, documents ...string) *Rendered {
	b.Helper()
	rendered, err := Render(b.chart(units, documents...), b.Namespace)
	if err != nil {
		b.Fatal(err)
	}
	return rendered
}

func TestRenderIsInTheOrderOfInstallation(t *testing.T) {
	b := onPaper(t)
	rendered := b.render([]unit{{name: "b"}, {name: "a"}}, configMap("map", "1"))
	var titles []string
	for _, object := range rendered.Objects {
		titles = append(titles, title(object))
	}
	if got, want := strings.Join(titles, ", "), "ConfigMap map, Deployment b, Deployment a"; got != want {
		t.Errorf("objects are %s, want %s", got, want)
	}
	if !strings.HasPrefix(rendered.Manifest, "---\n# Source: shop/templates/all.yaml\n") || strings.HasSuffix(rendered.Manifest, "\n\n") {
		t.Errorf("the manifest is not what helm template prints:\n%s", rendered.Manifest)
	}
	if again := b.render([]unit{{name: "b"}, {name: "a"}}, configMap("map", "1")); again.Manifest != rendered.Manifest {
		t.Errorf("the manifest of the same chart differs:\n%s\nwant\n%s", again.Manifest, rendered.Manifest)
	}
}

func TestRenderNamesTheTemplate(t *testing.T) {
	b := onPaper(t)
	_, err := Render(b.chart(nil, "{{ .Values.absent.key }}"), "prod")
	if err == nil || !strings.Contains(err.Error(), "templates/all.yaml:1") {
		t.Errorf("Render = %v, want the template and the line", err)
	}
}

func TestObjectsKeepNumbersAndText(t *testing.T) {
	objects, err := Objects(`# nothing but a comment
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
big: 9007199254740993
data:
  text: "on"
  separator: |
    before
    --- not a document
---

---
apiVersion: v1
kind: ConfigMap
metadata: {name: two}
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 2 {
		t.Fatalf("Objects returns %d objects, want 2", len(objects))
	}
	if got := objects[0].Object["big"]; got != int64(9007199254740993) {
		t.Errorf("the number is %v (%T), want 9007199254740993", got, got)
	}
	data := nested(objects[0], "data")
	if data["text"] != "on" || data["separator"] != "before\n--- not a document\n" {
		t.Errorf("the text is %q", data)
	}
}

func TestObjectsSaysWhichDocumentIsBroken(t *testing.T) {
	for name, broken := range map[string]string{
		"no YAML":   "a: [",
		"no kind":   "metadata: {name: x}",
		"no object": "- a\n- b",
		"a scalar":  "text",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Objects(configMap("a", "1") + "---\n" + broken)
			if err == nil || !strings.Contains(err.Error(), "document 2") {
				t.Errorf("Objects = %v, want an error that names document 2", err)
			}
		})
	}
}

func FuzzObjects(f *testing.F) {
	f.Add(configMap("a", "1") + "---\n" + configMap("b", "---"))
	f.Add("kind: List\napiVersion: v1\nitems: [{}]")
	f.Add("---\n---\n# only comments\n")
	f.Fuzz(func(t *testing.T, manifest string) {
		objects, err := Objects(manifest)
		if err != nil {
			return
		}
		for _, object := range objects {
			if object.GetKind() == "" {
				t.Errorf("an object without a kind was read from %q", manifest)
			}
		}
		changes, err := DiffManifests(manifest, manifest)
		if err == nil && len(changes) > 0 {
			t.Errorf("a manifest differs from itself: %+v", changes)
		}
	})
}
