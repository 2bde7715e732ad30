package workspace

import (
	"strings"

	"toa.io/toa/document"
)

const defaultReplicas = 2

// declared is a composition as the context states it.
type declared struct {
	name      string
	at        document.Place
	members   []member
	image     string
	replicas  int
	services  []string
	resources *Resources
}

type member struct {
	id string
	at document.Place
}

// composition reads items of `compositions`. One without a usable name was
// reported and is left out.
func (r *reader) composition(file *contextFile) document.Want {
	return document.Want{
		Take: func(v *document.Value) {
			d := declared{at: v.At, replicas: defaultReplicas}
			r.compositionKeys(&d).Take(v)
			if name := v.Find("name"); name != nil {
				d.at = name.Value.At
			}
			if d.name != "" {
				file.compositions = append(file.compositions, d)
			}
		},
		Schema: func() *document.Schema { return r.compositionKeys(&declared{}).Schema() },
	}
}

func (r *reader) compositionKeys(d *declared) document.Want {
	components := r.List(r.Text(new(string), componentReference))
	return r.Sub(document.Keys{
		"name":       r.Text(&d.name, simple).About("1 to 32 letters and digits; images are named after it"),
		"components": components.Then(func(v *document.Value) { d.members = r.members(v) }).About("namespace.name of its components"),
		"image":      r.image(&d.image).About("base image"),
		"replicas":   r.Integer(&d.replicas, 1).About("how many pods run, 2 if not stated"),
		"services":   r.references(&d.services, packageReference).About("packages whose services run in the same process"),
		"resources":  r.resources(&d.resources).About("requests and limits; null for none at all"),
	}, "name", "components")
}

// simple is the name of a composition, a component or a namespace.
var simple = document.Matching(simpleName, "1 to 32 letters and digits, a letter first")

var componentReference = document.Check{
	Pattern: `^(?:` + word + `\.)?` + word + `$`,
	Expects: func(text string) string {
		if !componentID.MatchString(CompleteID(text)) {
			return "namespace.name of a component"
		}
		return ""
	},
}

// members lists components by ID; a bare name and a complete one may be the
// same.
func (r *reader) members(v *document.Value) []member {
	var members []member
	seen := map[string]bool{}
	for _, item := range v.Items {
		m := member{id: CompleteID(item.Text), at: item.At}
		switch {
		case componentReference.Expects(item.Text) != "":
		case seen[m.id]:
			r.Fail(m.at, "keep one of them", "%s: expected every component once, found %s again", r.Where(), document.Quote(m.id))
		default:
			seen[m.id] = true
			members = append(members, m)
		}
	}
	return members
}

// checkCompositions refuses names that differ in case only: in lower case they
// name the same images and Deployments.
func (r *reader) checkCompositions(file *contextFile) {
	seen := make(map[string]declared, len(file.compositions))
	for _, d := range file.compositions {
		slug := strings.ToLower(d.name)
		if first, twice := seen[slug]; twice {
			r.Fail(d.at, "give each composition a name of its own",
				"composition %s: expected a name of its own, line %d has %s", document.Quote(d.name), first.at.Line, document.Quote(first.name))
			continue
		}
		seen[slug] = d
	}
}
