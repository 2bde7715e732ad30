package cluster

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDiffManifests(t *testing.T) {
	b := onPaper(t)
	from := b.render([]unit{{name: "same"}, {name: "edge", env: map[string]string{"LEVEL": "info"}}}, configMap("gone", "1"))
	to := b.render([]unit{{name: "same"}, {name: "edge", env: map[string]string{"LEVEL": "debug"}}, {name: "young"}})
	changes, err := DiffManifests(from.Manifest, to.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, change := range changes {
		got = append(got, change.Action+" "+change.Kind+" "+change.Name)
	}
	if want := "changed Deployment edge, added Deployment young, removed ConfigMap gone"; strings.Join(got, ", ") != want {
		t.Fatalf("changes are %q, want %s", got, want)
	}
	for _, want := range []string{"--- before\n+++ after\n@@ ", "\n-          value: info\n", "\n+          value: debug\n"} {
		if !strings.Contains(changes[0].Text, want) {
			t.Errorf("the diff of edge lacks %q:\n%s", want, changes[0].Text)
		}
	}
	if strings.Contains(changes[1].Text, "\n-") {
		t.Errorf("the diff of what is added removes something:\n%s", changes[1].Text)
	}
}

func TestDiffTakesOtherWordsForTheSame(t *testing.T) {
	changes, err := DiffManifests(
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1', y: '2'}\n",
		"# a comment\nkind: ConfigMap\napiVersion: v1\ndata:\n  y: \"2\"\n  x: \"1\"\nmetadata:\n  name: a\n",
	)
	if err != nil || len(changes) > 0 {
		t.Errorf("DiffManifests = %+v, %v, want nothing", changes, err)
	}
}

func secret(pairs string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: keys}\n" + pairs
}

func TestDiffShowsNoSecret(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("hunter2"))
	changes, err := DiffManifests(
		secret("data: {password: "+encoded+", same: c2FtZQ==}\nstringData: {token: sesame}\n"),
		secret("data: {password: bmV3, same: c2FtZQ==}\nstringData: {token: open}\n"),
	)
	if err != nil || len(changes) != 1 {
		t.Fatalf("DiffManifests = %+v, %v, want one change", changes, err)
	}
	for _, value := range []string{encoded, "hunter2", "bmV3", "c2FtZQ==", "sesame", "open"} {
		if strings.Contains(changes[0].Text, value) {
			t.Errorf("the diff shows %q:\n%s", value, changes[0].Text)
		}
	}
	for _, want := range []string{"-  password: (hidden)", "+  password: (hidden, another value)", "   same: (hidden)", "+  token: (hidden, another value)"} {
		if !strings.Contains(changes[0].Text, want) {
			t.Errorf("the diff lacks %q:\n%s", want, changes[0].Text)
		}
	}
}

// Only secrets are hidden, whatever is in them, and from where it comes.
func TestDiffNeverShowsASecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := func(label string) string {
			return "canary" + rapid.StringMatching(`[a-zA-Z0-9+/=\n"':{} ]{0,40}`).Draw(t, label)
		}
		field := rapid.SampledFrom([]string{"data", "stringData"}).Draw(t, "field")
		from, to := "", ""
		if rapid.Bool().Draw(t, "was there") {
			from = secret(fmt.Sprintf("%s: {key: %q}\n", field, value("from")))
		}
		if rapid.Bool().Draw(t, "will be there") {
			to = secret(fmt.Sprintf("%s: {key: %q}\n", field, value("to")))
		}
		changes, err := DiffManifests(from, to)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range changes {
			if strings.Contains(change.Text, "canary") {
				t.Errorf("the diff shows a value:\n%s", change.Text)
			}
		}
	})
}

func TestDiffDoesNotPrintBytes(t *testing.T) {
	binary := func(data string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: components}\nbinaryData: {map.gz: " + base64.StdEncoding.EncodeToString([]byte(data)) + "}\n"
	}
	changes, err := DiffManifests(binary("first"), binary("second"))
	if err != nil || len(changes) != 1 {
		t.Fatalf("DiffManifests = %+v, %v, want one change", changes, err)
	}
	if !strings.Contains(changes[0].Text, "-  map.gz: (5 bytes, ") || !strings.Contains(changes[0].Text, "+  map.gz: (6 bytes, ") {
		t.Errorf("the diff is\n%s\nwant sizes and digests", changes[0].Text)
	}
}
