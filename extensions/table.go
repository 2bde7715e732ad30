package extensions

// References of packages that are more than rows of the table.
const (
	packageAMQP          = "@toa.io/bindings.amqp"
	packageMongoDB       = "@toa.io/storages.mongodb"
	packageCadence       = "@toa.io/extensions.cadence"
	packageConfiguration = "@toa.io/extensions.configuration"
	packageContinuity    = "@toa.io/extensions.continuity"
	packageConvergence   = "@toa.io/extensions.convergence"
	packageExposition    = "@toa.io/extensions.exposition"
	packageIntrospection = "@toa.io/extensions.introspection"
)

// definition is a standard package.
type definition struct {
	// key is what people call it: its shortcut where it has one.
	key string
	// declare is a pure function of what it is asked with. Mistakes go to the reader.
	declare func(Input) Declaration
	// standalone packages are deployed where they are annotated, though no
	// component uses them.
	standalone bool
}

// table is every package that is known here. Others are asked themselves.
var table = map[string]definition{
	packageMongoDB:                  {key: "mongodb", declare: mongodb},
	"@toa.io/storages.null":         {key: "storages.null", declare: silent},
	packageAMQP:                     {key: "amqp", declare: amqp},
	"@toa.io/bindings.http":         {key: "http", declare: http},
	"@toa.io/bindings.loop":         {key: "bindings.loop", declare: silent},
	"@toa.io/bridges.node":          {key: "node", declare: silent},
	"@toa.io/bridges.bash":          {key: "bash", declare: silent},
	packageCadence:                  {key: "cadence", declare: cadence, standalone: true},
	packageConfiguration:            {key: "configuration", declare: configuration},
	packageContinuity:               {key: "continuity", declare: continuity},
	packageConvergence:              {key: "convergence", declare: convergence},
	packageExposition:               {key: "exposition", declare: exposition},
	packageExposition + "#realtime": {key: "realtime", declare: realtime},
	"@toa.io/extensions.fetch":      {key: "fetch", declare: silent},
	packageIntrospection:            {key: "introspection", declare: introspection, standalone: true},
	"@toa.io/extensions.stash":      {key: "stash", declare: stash},
	"@toa.io/extensions.state":      {key: "state", declare: silent},
	"@toa.io/extensions.storages":   {key: "storages", declare: storages},
	"@toa.io/extensions.telemetry":  {key: "telemetry", declare: telemetry},

	// These are in older releases only.
	"@toa.io/storages.sql":       {key: "sql", declare: sql},
	"@toa.io/storages.queues":    {key: "queues", declare: silent},
	"@toa.io/extensions.origins": {key: "origins", declare: origins},
}
