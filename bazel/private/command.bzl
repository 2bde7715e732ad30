"""What the commands of toa take."""

# The attributes that say how a command goes about its work, and its flags.
FLAGS = {
    "builder": "--builder",
    "builder_address": "--builder-address",
    "jobs": "--jobs",
    "kube_context": "--kube-context",
    "mono": "--mono",
    "namespace": "--namespace",
    "registry": "--registry",
}

_BUILDING = ["builder", "builder_address", "jobs", "mono"]
_RELEASING = ["kube_context", "namespace"]

# The commands: their words, and the attributes that they take.
COMMANDS = {
    "build": (["build", "--locked"], _BUILDING),
    "check": (["check"], ["mono", "registry"]),
    "deploy": (["deploy", "--locked"], _BUILDING + _RELEASING + ["registry"]),
    "diff": (["graph", "plan", "--diff"], ["builder", "builder_address", "mono", "registry"] + _RELEASING),
    "graph": (["graph", "build", "--locked"], _BUILDING + _RELEASING + ["registry"]),
    "plan": (["graph", "plan"], ["builder", "builder_address", "mono", "registry"] + _RELEASING),
    "push": (["push", "--locked"], _BUILDING + ["registry"]),
    "rollback": (["rollback"], _RELEASING),
}

# Attributes of FLAGS as rules have them. Texts may hold {KEY}s.
ATTRIBUTES = {
    "builder": attr.string(
        doc = "auto, native, buildkit or docker.",
        values = ["", "auto", "native", "buildkit", "docker"],
    ),
    "builder_address": attr.string(doc = "Address of a BuildKit."),
    "jobs": attr.int(doc = "How many images to build at a time; 0 leaves that to toa."),
    "kube_context": attr.string(doc = "kubeconfig context of the cluster. Without one, here and in context.toa.yaml, the release is a package."),
    "mono": attr.bool(doc = "Make one unit of all components and services."),
    "namespace": attr.string(doc = "Namespace of the release."),
    "registry": attr.string(doc = "Base of references, instead of registry.base."),
}

# The type of toolchains, as the repository of the rules calls it.
TOOLCHAIN = Label("//bazel:toolchain_type")

def command_flags(names, values):
    """The flags that attributes come to.

    Args:
      names: which of FLAGS.
      values: a struct that has them.
    Returns:
      A list of words.
    """
    words = []
    for name in sorted(names):
        value = getattr(values, name)
        if type(value) == type(True):
            words += [FLAGS[name]] if value else []
        elif value:
            words.append("%s=%s" % (FLAGS[name], value))
    return words
