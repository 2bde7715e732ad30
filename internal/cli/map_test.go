package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"toa.io/toa/chart"
	"toa.io/toa/extensions"
	"toa.io/toa/workspace"
)

// Processes on this machine are told what those on a cluster are.
func TestMapIsThatOfTheChart(t *testing.T) {
	ws := &workspace.Workspace{
		Context: workspace.Context{Name: "shop", Version: "1.0.0"},
		Components: []*workspace.Component{
			{ID: "shop.bare", Namespace: "shop", Name: "bare", Label: "shop-bare"},
			{
				ID: "shop.orders", Namespace: "shop", Name: "orders", Label: "shop-orders",
				Contract: json.RawMessage(`{"entity":{"properties":{"<sum>":{"type":"number"}}},"version":"no","events":{"paid":null}}`),
			},
		},
	}
	versions := map[string]string{"shop.orders": "abc", "shop.bare": "1.2"}
	data, err := encodeMap(ws.Components, versions)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(data), "\n"); lines != len(ws.Components)+2 {
		t.Errorf("got %d lines, want one for each component and two around them:\n%s", lines, data)
	}
	var got, want any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(chartMap(t, ws, versions)), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %s, want %v", data, want)
	}
}

// chartMap is the map of a chart that runs nothing.
func chartMap(t *testing.T, ws *workspace.Workspace, versions map[string]string) string {
	t.Helper()
	made, err := chart.New(chart.Input{Workspace: ws, Deployment: &extensions.Deployment{}, Versions: versions})
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Map struct{ Components string }
	}
	for _, f := range made.Files {
		if f.Path == "values.yaml" {
			if err := yaml.Unmarshal(f.Data, &values); err != nil {
				t.Fatal(err)
			}
		}
	}
	return values.Map.Components
}
