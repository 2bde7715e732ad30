package extensions

import (
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/workspace"
)

const (
	configurationPath  = "/.configuration"
	configurationPort  = 8003
	configurationEvent = "configuration.values.created"

	// ConfigurationSecret is the Kubernetes secret that values refer to.
	ConfigurationSecret = "toa-configuration"
)

var secretReference = lazyregexp.New(`^\$([A-Z0-9_]{1,32})$`)

// configuration hands the values of the context to its service, and secrets
// that values refer to to the components themselves.
func configuration(in Input) Declaration {
	s := in.service("configuration", "values")
	s.Image = "ghcr.io/toa-io/extension-configuration-values"
	s.Port, s.Ingress = configurationPort, &Ingress{Path: configurationPath}
	values := in.configured(&s)
	s.Variables = []Variable{encoded("TOA_CONFIGURATION_VALUES", in.entries(values))}
	variables := map[string][]Variable{}
	for _, i := range in.Instances {
		if secrets := references(values[i.ID]); len(secrets) > 0 {
			variables[i.Label] = secrets
		}
	}
	return Declaration{
		Services: []Service{s}, Variables: variables, Events: []string{configurationEvent}, Notices: in.unknownSchemas(values),
	}
}

// configured reads values by the ID of the component. The key "resources" is
// the service's own; a component of that name has to be written in full.
func (in Input) configured(s *Service) map[string]*document.Value {
	values := map[string]*document.Value{}
	own := resources(in.Reader, &s.Resources)
	in.read(in.Reader.Each(func(key string) document.Want {
		if key == "resources" {
			return own
		}
		return in.Reader.Some("an object", document.Object).Then(func(v *document.Value) {
			id := workspace.CompleteID(key)
			if _, twice := values[id]; twice {
				in.Reader.Fail(in.Reader.Key(), "keep one of them", "%s: expected every component once, found %s again", in.Reader.Where(), document.Quote(id))
			}
			values[id] = v
			in.checkComponent(key, "resources")
			in.checkSecrets(id, v)
		})
	}))
	return values
}

// checkSecrets wants references where the component's schema has secrets.
func (in Input) checkSecrets(id string, v *document.Value) {
	for _, i := range in.All {
		if i.ID == id {
			in.checkSecret(declaredSchema(i.Declaration), v)
		}
	}
}

func (in Input) checkSecret(schema, v *document.Value) {
	if schema == nil || schema.Kind != document.Object {
		return
	}
	if format := schema.Find("format"); format != nil && format.Value.Text == "secret" {
		if v.Kind != document.Text || !secretReference.MatchString(v.Text) {
			in.Reader.Fail(v.At, "put the value into the secret "+ConfigurationSecret+" and refer to its key",
				"%s: expected a reference to a secret such as $NAME", in.Reader.Where())
		}
		return
	}
	for _, item := range v.Items {
		in.checkSecret(member(schema, "items"), item)
	}
	for _, f := range v.Fields {
		nested := member(schema, "additionalProperties")
		if properties := member(schema, "properties"); properties != nil && properties.Find(f.Key) != nil {
			nested = properties.Find(f.Key).Value
		}
		in.Reader.Under(step(f.Key), func() { in.checkSecret(nested, f.Value) })
	}
}

func member(v *document.Value, key string) *document.Value {
	if f := v.Find(key); f != nil {
		return f.Value
	}
	return nil
}

// declaredSchema is what a component says its configuration looks like: under
// the key schema, or as a whole.
func declaredSchema(v *document.Value) *document.Value {
	if v == nil || v.Kind != document.Object {
		return object()
	}
	if schema := member(v, "schema"); schema != nil && schema.Kind == document.Object {
		return schema
	}
	return v
}

// entries are what the service is told of every component, evicted ones too:
// it serves them wherever they run.
func (in Input) entries(values map[string]*document.Value) *document.Value {
	all := object()
	for _, i := range in.All {
		entry := object()
		if i.Declaration != nil {
			schema := declaredSchema(i.Declaration)
			entry = object(field("epoch", text(epoch(schema))), field("schema", schema))
		}
		if defaults := defaults(i.Declaration, values[i.ID]); defaults != nil {
			entry.Fields = append(entry.Fields, field("defaults", defaults))
		}
		if len(entry.Fields) > 0 {
			all.Fields = append(all.Fields, field(i.ID, entry))
		}
	}
	return all
}

// unknownSchemas says for which components there are values, but no schema that
// they could be served with: those that packages bring which are not installed.
func (in Input) unknownSchemas(values map[string]*document.Value) []string {
	var notices []string
	for _, i := range in.All {
		if i.Declaration == nil && values[i.ID] != nil {
			notices = append(notices, "the schema of the configuration of "+i.ID+
				" is not known, for the package that brings it is not installed: its values are deployed without")
		}
	}
	return notices
}

// defaults are the context's values over those of the manifest.
func defaults(declaration, stated *document.Value) *document.Value {
	var own *document.Value
	if declaration != nil && declaration.Find("schema") != nil {
		own = member(declaration, "defaults")
	}
	switch {
	case stated == nil:
		return own
	case own == nil:
		return stated
	}
	return filled(stated, own)
}

// filled adds to an object what only the other has, at any depth.
func filled(v, other *document.Value) *document.Value {
	if v.Kind != document.Object || other.Kind != document.Object {
		return v
	}
	whole := object(slices.Clone(v.Fields)...)
	for _, f := range other.Fields {
		if same := whole.Find(f.Key); same != nil {
			same.Value = filled(same.Value, f.Value)
		} else {
			whole.Fields = append(whole.Fields, f)
		}
	}
	return whole
}

// references are the secrets that values name, each once, by name.
func references(v *document.Value) []Variable {
	var names []string
	collectReferences(v, &names)
	slices.Sort(names)
	var variables []Variable
	for _, name := range slices.Compact(names) {
		variables = append(variables, Variable{
			Name: "TOA_CONFIGURATION__" + name, Secret: &Secret{Name: ConfigurationSecret, Key: name},
		})
	}
	return variables
}

func collectReferences(v *document.Value, names *[]string) {
	if v == nil {
		return
	}
	if v.Kind == document.Text && secretReference.MatchString(v.Text) {
		*names = append(*names, strings.TrimPrefix(v.Text, "$"))
	}
	for _, item := range v.Items {
		collectReferences(item, names)
	}
	for _, f := range v.Fields {
		collectReferences(f.Value, names)
	}
}
