package ui

import (
	"bytes"
	"encoding/json"
	"testing"
)

var someChanges = Changes{Against: "revision 3 of shop in prod at https://cluster.test", Objects: []ObjectChange{
	{Action: "added", Kind: "Service", Name: "gateway"},
	{Action: "changed", Kind: "Deployment", Name: "composition-edge", Text: "@@ -1 +1 @@\n-  replicas: 1\n+  replicas: 2\x1b[2J\n"},
	{Action: "removed", Kind: "ConfigMap", Name: "old"},
	{Action: "removed", Kind: "ConfigMap", Name: "older"},
}}

func TestWriteChanges(t *testing.T) {
	var text bytes.Buffer
	if err := WriteChanges(&text, someChanges); err != nil {
		t.Fatal(err)
	}
	golden(t, "changes.txt", text.String())
	text.Reset()
	if err := WriteChanges(&text, Changes{Against: "the last package, shop-0.1.0"}); err != nil {
		t.Fatal(err)
	}
	if want := "release: no object changes, against the last package, shop-0.1.0\n"; text.String() != want {
		t.Errorf("got %q, want %q", text.String(), want)
	}
}

func TestPlanJSONHasChanges(t *testing.T) {
	var data bytes.Buffer
	if err := WritePlanJSON(&data, shopPlan(t), &someChanges); err != nil {
		t.Fatal(err)
	}
	var got struct{ Release Changes }
	if err := json.Unmarshal(data.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Release.Objects) != 4 || got.Release.Objects[1] != someChanges.Objects[1] {
		t.Errorf("read %+v", got.Release)
	}
}
