package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/extensions"
)

// aChoice has two components, one that a package brings, and two services.
func aChoice() choice {
	one := func(name, value string) []extensions.Variable {
		return []extensions.Variable{{Name: name, Value: value}}
	}
	return choice{
		deployment: &extensions.Deployment{
			Components: []string{"default.carts", "identity.bans", "shop.Orders", "shop.gone", "shop.quiet"},
			Evicted:    []string{"shop.gone"},
			Variables: map[string][]extensions.Variable{
				extensions.Global: one("ALL", "global"),
				"shop-orders":     append(one("ORDERS", "1"), extensions.Variable{Name: "ALL", Value: "orders"}),
				"default-carts":   one("CARTS", "1"),
				"identity-bans":   one("BANS", "1"),
				"shop-gone":       one("GONE", "1"),
			},
			Services: []extensions.Placed{
				{Service: extensions.Service{Group: "cadence", Name: "metronome", Package: "@toa.io/extensions.cadence", Variables: one("BEAT", "1")}},
				{Service: extensions.Service{
					Group: "exposition", Name: "gateway", Package: "@toa.io/extensions.exposition",
					Components: []string{"identity-bans"}, Variables: append(one("ROUTES", "1"), one("BANS", "gateway")...),
				}},
			},
		},
	}
}

func TestChoice(t *testing.T) {
	for _, c := range []struct {
		name                 string
		components, services []string
		want                 string
	}{
		{"everything", nil, nil, "ALL CARTS BANS ORDERS BEAT ROUTES"},
		{"a component by ID", []string{"shop.Orders"}, nil, "ALL ORDERS"},
		{"by label", []string{"shop-orders"}, nil, "ALL ORDERS"},
		{"in another case", []string{"shop.orders"}, nil, "ALL ORDERS"},
		{"of the default namespace", []string{"carts"}, nil, "ALL CARTS"},
		{"several, twice", []string{"shop.orders", "carts", "carts"}, nil, "ALL CARTS ORDERS"},
		{"one without variables", []string{"shop.quiet"}, nil, "ALL"},
		{"one that is evicted", []string{"shop.gone"}, nil, "ALL GONE"},
		{"one that is brought", []string{"identity.bans"}, nil, "ALL BANS"},
		{"a service by group", nil, []string{"exposition"}, "ALL BANS ROUTES"},
		{"by name", nil, []string{"gateway"}, "ALL BANS ROUTES"},
		{"by ID", nil, []string{"cadence-metronome"}, "ALL BEAT"},
		{"by package", nil, []string{"@toa.io/extensions.cadence"}, "ALL BEAT"},
		{"both kinds", []string{"carts"}, []string{"cadence"}, "ALL CARTS BEAT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := aChoice().variables(c.components, c.services)
			if names := strings.Join(names(got), " "); err != nil || names != c.want {
				t.Errorf("variables(%q, %q) = %s, %v, want %s", c.components, c.services, names, err, c.want)
			}
			if got[0].Value != "global" {
				t.Errorf("the first of a name does not win: ALL is %q", got[0].Value)
			}
		})
	}
}

func names(all []extensions.Variable) []string {
	var names []string
	for _, v := range all {
		names = append(names, v.Name)
	}
	return names
}

func TestChoiceOfNothing(t *testing.T) {
	for _, c := range []struct {
		name                 string
		components, services []string
		want, hint           string
	}{
		{"component", []string{"shop.ordres"}, nil, `unknown component "shop.ordres"`, `did you mean "shop.Orders"?`},
		{"brought component", []string{"identity-ban"}, nil, `unknown component "identity-ban"`, `did you mean "identity-bans"?`},
		{"global is none", []string{extensions.Global}, nil, `unknown component "global"`, `there is for instance "default.carts"`},
		{"service", nil, []string{"expositoin"}, `unknown service "expositoin"`, `did you mean "exposition"?`},
		{"nothing near", nil, []string{"zzz"}, `unknown service "zzz"`, `there is for instance "cadence-metronome"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := aChoice().variables(c.components, c.services)
			var wrong *usageError
			if !errors.As(err, &wrong) || err.Error() != c.want || wrong.Hint() != c.hint {
				t.Errorf("variables(%q, %q): got %v, want %s, %s", c.components, c.services, err, c.want, c.hint)
			}
		})
	}
}

func TestChoiceChangesNothing(t *testing.T) {
	c := aChoice()
	before := slices.Clone(c.deployment.Variables[extensions.Global])
	for range 2 {
		if _, err := c.variables(nil, []string{"cadence"}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(before, c.deployment.Variables[extensions.Global]) || len(c.deployment.Services) != 2 {
		t.Errorf("the deployment was changed: %v", c.deployment)
	}
}
