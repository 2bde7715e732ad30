package workspace

import "strings"

const defaultReplicas = 2

// declaration is a composition as the context states it.
type declaration struct {
	name     string
	at       place
	members  []member
	image    string
	replicas int
}

type member struct {
	id string
	at place
}

// composition reads one item of `compositions`. One without a usable name was
// reported and is left out.
func (r *reader) composition(v *value, file *contextFile) {
	d := declaration{at: v.at, replicas: defaultReplicas}
	components := r.list(r.text(new(string), componentReference))
	r.object(v, keys{
		"name": r.text(&d.name, matching(simpleName, "1 to 32 letters and digits, a letter first")),
		"components": func(v *value) {
			components(v)
			d.members = r.members(v)
		},
		"image":     r.text(&d.image, imageReference),
		"replicas":  r.integer(&d.replicas, 1),
		"services":  r.later("compositions.services", r.list(r.text(new(string), filled))),
		"resources": r.later("compositions.resources", r.resources()),
	})
	r.require(v, "name", "components")
	if name := v.find("name"); name != nil {
		d.at = name.value.at
	}
	if d.name != "" {
		file.compositions = append(file.compositions, d)
	}
}

func componentReference(text string) string {
	if !componentID.MatchString(CompleteID(text)) {
		return "namespace.name of a component"
	}
	return ""
}

// members lists a composition's components by ID; a bare name and a complete
// one may be the same.
func (r *reader) members(v *value) []member {
	var members []member
	seen := map[string]bool{}
	for _, item := range v.items {
		m := member{id: CompleteID(item.text), at: item.at}
		switch {
		case componentReference(item.text) != "":
		case seen[m.id]:
			r.fail(m.at, "keep one of them", "%s: expected every component once, found %s again", r.where(), quote(m.id))
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
	seen := make(map[string]declaration, len(file.compositions))
	for _, d := range file.compositions {
		slug := strings.ToLower(d.name)
		if first, twice := seen[slug]; twice {
			r.fail(d.at, "give each composition a name of its own",
				"composition %s: expected a name of its own, line %d has %s", quote(d.name), first.at.line, quote(first.name))
			continue
		}
		seen[slug] = d
	}
}
