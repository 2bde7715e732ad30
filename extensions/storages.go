package extensions

import (
	"maps"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

var storageName = lazyregexp.New(`^[a-z0-9_]{1,32}$`)

// provider is a kind of storage of files.
type provider struct {
	required, optional []string // keys with text
	secrets            []string // keys of the storage's secret
	lenient            bool     // the secrets may be missing
	packages           []string // npm packages that it is written with
	open               bool     // it takes objects and lists besides
}

var s3Packages = []string{"@aws-sdk/client-s3", "@aws-sdk/lib-storage"}

var providers = map[string]provider{
	"s3": {
		required: []string{"bucket"}, optional: []string{"region", "prefix", "endpoint"},
		secrets: []string{"ACCESS_KEY_ID", "SECRET_ACCESS_KEY"}, lenient: true, packages: s3Packages,
	},
	"spaces": {
		required: []string{"space", "region"}, optional: []string{"prefix"},
		secrets: []string{"ACCESS_KEY_ID", "SECRET_ACCESS_KEY"}, packages: s3Packages,
	},
	"cloudinary": {
		required: []string{"environment", "type"}, optional: []string{"prefix"},
		secrets: []string{"API_KEY", "API_SECRET"}, packages: []string{"cloudinary"}, open: true,
	},
	"fs":   {required: []string{"path"}, optional: []string{"claim"}},
	"tmp":  {required: []string{"directory"}},
	"test": {required: []string{"directory"}, secrets: []string{"USERNAME", "PASSWORD"}},
	"mem":  {},
}

// versions are those that the runtime asks for.
var versions = map[string]string{
	"@aws-sdk/client-s3": "3.1127.0", "@aws-sdk/lib-storage": "3.1127.0", "cloudinary": "2.11.0",
}

// storages says where files are kept, mounts those that are directories, and
// has the packages installed that the providers are written with.
func storages(in Input) Declaration {
	annotation := object()
	in.read(in.Reader.Each(in.storage))
	if in.Annotation != nil {
		annotation = in.Annotation
	}
	d := Declaration{
		Variables: map[string][]Variable{Global: append([]Variable{encoded("TOA_STORAGES", annotation)}, storageSecrets(annotation)...)},
		Mounts:    map[string][]Mount{}, Installs: map[string]map[string]string{},
	}
	for _, i := range in.Instances {
		in.equip(&d, i, annotation)
	}
	return d
}

func (in Input) storage(name string) document.Want {
	r := in.Reader
	return document.Want{Take: func(v *document.Value) {
		if !storageName.MatchString(name) {
			r.Fail(r.Key(), "", "%s: expected a name of small letters, digits and underscores, found %s", r.Where(), document.Quote(name))
		}
		if kind := v.Find("provider"); kind != nil {
			if p, known := providers[kind.Value.Text]; known {
				r.Object(v, p.keys(r))
				r.Require(v, p.required...)
				return
			}
		}
		kinds := slices.Sorted(maps.Keys(providers))
		r.Open(document.Keys{"provider": r.Text(new(string), document.OneOf(kinds...))}, "provider").Take(v)
	}}
}

func (p provider) keys(r *document.Reader) document.Keys {
	known := document.Keys{"provider": document.Anything()}
	for _, key := range append(slices.Clone(p.required), p.optional...) {
		known[key] = r.Text(new(string), document.Filled)
	}
	if p.open {
		known["type"] = r.Text(new(string), document.OneOf("image", "video"))
		known["transformations"] = r.List(r.Some("an object", document.Object))
	}
	return known
}

func providerOf(annotation *document.Value, name string) (provider, *document.Value) {
	f := annotation.Find(name)
	if f == nil || f.Value.Find("provider") == nil {
		return provider{}, object()
	}
	return providers[f.Value.Find("provider").Value.Text], f.Value
}

func storageSecrets(annotation *document.Value) []Variable {
	var variables []Variable
	for _, f := range annotation.Fields {
		p, _ := providerOf(annotation, f.Key)
		for _, key := range p.secrets {
			variables = append(variables, Variable{
				Name:   strings.ToUpper("TOA_STORAGES_" + f.Key + "_" + key),
				Secret: &Secret{Name: secretName("storages", f.Key), Key: key, Optional: p.lenient},
			})
		}
	}
	return variables
}

// equip gives a component what the storages need that it declares. One that
// declares none may use all, so it gets every provider.
func (in Input) equip(d *Declaration, i Instance, annotation *document.Value) {
	names := in.declared(i, annotation)
	for _, name := range names {
		_, v := providerOf(annotation, name)
		if claim := v.Find("claim"); claim != nil && v.Find("path") != nil {
			d.Mounts[i.Label] = append(d.Mounts[i.Label], Mount{Name: hyphens.Replace(name), Path: v.Find("path").Value.Text, Claim: claim.Value.Text})
		}
	}
	if len(names) == 0 {
		for _, f := range annotation.Fields {
			names = append(names, f.Key)
		}
	}
	installs := map[string]string{}
	for _, name := range names {
		p, _ := providerOf(annotation, name)
		for _, one := range p.packages {
			installs[one] = versions[one]
		}
	}
	if len(installs) > 0 {
		d.Installs[i.Label] = installs
	}
}

// declared are the names of the storages that a component declares.
func (in Input) declared(i Instance, annotation *document.Value) []string {
	var names []string
	for _, name := range named(i.Declaration) {
		if annotation.Find(name) == nil {
			i.fail(in.Reader, "state it under `"+in.Key+"` of the context",
				"expected a storage that the context has, found "+document.Quote(name))
			continue
		}
		names = append(names, name)
	}
	return names
}

// named are the texts that a declaration lists, one alone, or the keys of an object.
func named(v *document.Value) []string {
	if v == nil {
		return nil
	}
	var names []string
	switch v.Kind {
	case document.Text:
		names = append(names, v.Text)
	case document.List:
		for _, item := range v.Items {
			names = append(names, item.Text)
		}
	case document.Object:
		for _, f := range v.Fields {
			names = append(names, f.Key)
		}
	default:
	}
	return names
}
