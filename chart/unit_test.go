package chart_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"toa.io/toa/chart"
	"toa.io/toa/extensions"
	"toa.io/toa/graph"
)

const image = "registry.example.com/my_shop/image:0011@" + digest

// deployed is the shop with a composition that hosts a service, and a service
// of its own.
func deployed() chart.Input {
	in := shop()
	journal := extensions.Service{Package: "@toa.io/extensions.continuity", Group: "continuity", Name: "journal", Version: "1.0.0"}
	values := extensions.Service{
		Package: "@toa.io/extensions.configuration", Group: "configuration", Name: "values", Version: "1.0.0", Port: 8003,
		Ingress:   &extensions.Ingress{Path: "/.configuration", Hosts: []string{"api.example.com"}},
		Variables: []extensions.Variable{{Name: "TOA_CONFIGURATION_VALUES", Value: "{}"}},
	}
	in.Deployment = &extensions.Deployment{
		Units: []extensions.Unit{
			{
				ID: "composition/store", Components: []string{"store-carts", "store-orders"}, Replicas: 2,
				Packages: []string{"@toa.io/extensions.configuration"}, Hosted: []string{"configuration-values"},
				Variables: []extensions.Variable{{Name: "TOA_ENV"}, {Name: "PASSWORD", Secret: &extensions.Secret{Name: "toa-a", Key: "b"}}},
				Mounts:    []extensions.Mount{{Name: "files", Path: "/var/files", Claim: "shop-files"}},
				Backends:  []extensions.Backend{{Port: 8003, Path: "/.configuration"}},
				Probe:     &extensions.Probe{Path: "/.ready", Port: 8001, Delay: 3},
				Resources: &extensions.Resources{CPU: &[2]string{"100m", "1"}, Memory: &[2]string{"1Mi", "2Mi"}},
			},
			{ID: "service/continuity-journal", Components: []string{"continuity-journal"}, Service: &journal},
		},
		Services: []extensions.Placed{{Service: values, Hosts: []string{"store"}}, {Service: journal}},
	}
	in.References["service/continuity-journal"] = image
	return in
}

// single is the shop as mono.
func single() chart.Input {
	in := shop()
	in.Deployment = &extensions.Deployment{
		Units:    []extensions.Unit{{ID: "mono", Components: []string{"default-mail", "store-carts", "store-orders"}, Replicas: 2}},
		Services: deployed().Deployment.Services,
	}
	in.References["mono"] = image
	return in
}

func TestNewWritesKeysInOrder(t *testing.T) {
	c, err := chart.New(deployed())
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Compositions, Services []yaml.Node
		Components             []string
	}
	if err := yaml.Unmarshal(content(t, c, "values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		node yaml.Node
		want string
	}{
		"composition": {values.Compositions[0], "name image components resources services replicas variables mounts hosted backends probe"},
		"hosted":      {values.Services[0], "name workload group version port ingress"},
		"own":         {values.Services[1], "name image group version"},
	} {
		var got []string
		for i := 0; i < len(test.node.Content); i += 2 {
			got = append(got, test.node.Content[i].Value)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s has keys %q, want %s", name, got, test.want)
		}
	}
	if want := []string{"store-carts", "store-orders"}; !slices.Equal(values.Components, want) {
		t.Errorf("components are %q, want %q: those of services are not called by label", values.Components, want)
	}
}

// Mono runs every service: none stands beside it.
func TestNewMono(t *testing.T) {
	c, err := chart.New(single())
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Compositions, Services []any
		Mono                   struct{ Image string }
	}
	if err := yaml.Unmarshal(content(t, c, "values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	if len(values.Compositions)+len(values.Services) > 0 || values.Mono.Image != image {
		t.Errorf("values are %+v, want mono alone", values)
	}
}

func TestNewRefusesUnitsThatAreNotPinned(t *testing.T) {
	for id, in := range map[graph.ID]chart.Input{
		"composition/store": deployed(), "service/continuity-journal": deployed(), "mono": single(),
	} {
		delete(in.References, id)
		var unpinned *chart.UnpinnedError
		if _, err := chart.New(in); !errors.As(err, &unpinned) || unpinned.ID != id {
			t.Errorf("New without image: error %v, want *UnpinnedError that names %s", err, id)
		}
	}
}

func TestNewRefusesServicesThatNothingRuns(t *testing.T) {
	in := deployed()
	in.Deployment.Units = in.Deployment.Units[:1]
	if _, err := chart.New(in); err == nil || !strings.Contains(err.Error(), "service/continuity-journal") {
		t.Errorf("New: error %v, want one that names the service", err)
	}
}

func TestNewNamesVolumesAsKubernetesDoes(t *testing.T) {
	in := deployed()
	in.Deployment.Units[0].Mounts[0].Name = "User_files"
	c, err := chart.New(in)
	if err != nil {
		t.Fatal(err)
	}
	if values := string(content(t, c, "values.yaml")); !strings.Contains(values, `name: "user-files"`) {
		t.Errorf("values are\n%s\nwant a mount user-files", values)
	}
}
