package workspace

// Schemas of memos. A memo of a file is only made when nothing is wrong with
// it, so a rule that refuses what was accepted before needs a new version here,
// as does every new field.
const (
	contextSchema  = "toa/memo/context/v1"
	manifestSchema = "toa/memo/manifest/v1"
	packageSchema  = "toa/memo/package/v2"
)

func (f *contextFile) visit(c *codec) {
	x := &f.context
	for _, text := range []*string{
		&x.Name, &x.Version, &x.Description,
		&x.Runtime.Version, &x.Runtime.Registry, &x.Runtime.Proxy,
		&x.Registry.Base, &x.Registry.Credentials, &x.Registry.Services,
		&x.Release.Namespace, &x.Release.Context, &x.Release.Registry,
		&x.Builder.Kind, &x.Builder.Address, &x.Builder.Cache,
		&f.packages,
	} {
		c.text(text)
	}
	c.texts(&x.Registry.Platforms)
	x.Registry.Build.visit(c)
	c.flag(&x.Release.Wait)
	c.flag(&x.Release.Atomic)
	c.duration(&x.Release.Timeout)
	c.integer(&x.Release.History)
	items(c, &f.compositions, func(c *codec, d *declaration) { d.visit(c) })
	items(c, &f.mentions, func(c *codec, m *mention) { m.visit(c) })
}

func (d *declaration) visit(c *codec) {
	c.text(&d.name)
	c.place(&d.at)
	items(c, &d.members, func(c *codec, m *member) {
		c.text(&m.id)
		c.place(&m.at)
	})
	c.text(&d.image)
	c.integer(&d.replicas)
}

func (m *mention) visit(c *codec) {
	c.text(&m.kind)
	c.place(&m.at)
}

func (b *Build) visit(c *codec) {
	c.text(&b.Image)
	c.texts(&b.Run)
	c.texts(&b.Arguments)
	c.text(&b.Scripts)
}

// visit covers what comes from the manifest; Dir and Position.File are known
// from where it stands.
func (f *manifestFile) visit(c *codec) {
	x := &f.component
	c.text(&x.Namespace)
	c.text(&x.Name)
	c.text(&x.ID)
	c.text(&x.Label)
	c.text(&x.Version)
	c.texts(&x.Files)
	c.texts(&x.Ignore)
	x.Build.visit(c)
	c.json(&x.Contract)
	c.integer(&x.Position.Line)
	c.integer(&x.Position.Column)
	items(c, &f.mentions, func(c *codec, m *mention) { m.visit(c) })
}

func (p *packageFile) visit(c *codec) {
	c.flag(&p.absent)
	c.text(&p.module)
	c.flag(&p.dependencies)
}
