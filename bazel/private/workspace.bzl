"""toa_workspace: the files that toa is to see."""

ToaWorkspaceInfo = provider(
    doc = "A toa workspace: what other rules hand to the command.",
    fields = {
        "environment": "The environment that it is read for unless a target says another.",
        "files": "Depset of all files of the workspace.",
        "runfiles_sources": "The list of them for `toa --sources`, as runfiles name them.",
        "sources": "The list of them for `toa --sources`, as actions name them.",
    },
)

def _line(file, executable):
    kind = ("program" if executable else "source") if file.is_source else ("built" if executable else "generated")
    return "%s\t%s" % (kind, file.short_path)

def _plain(file):
    return _line(file, False) + "\t" + file.path

def _executable(file):
    return _line(file, True) + "\t" + file.path

def _plain_runfile(file):
    return _line(file, False)

def _executable_runfile(file):
    return _line(file, True)

def _layouts(ctx):
    """The kind, the use and the directory of each image."""
    bases = [("layout", path, _directory(target)) for target, path in ctx.attr.images.items()]
    return bases + [("finished", composition, _directory(target)) for target, composition in ctx.attr.finished.items()]

def _directory(target):
    files = target[DefaultInfo].files.to_list()
    if len(files) != 1 or not (files[0].is_directory or files[0].is_source):
        fail("%s gives %d files, expected one directory that holds an OCI image layout" % (target.label, len(files)))
    return files[0]

def _list(ctx, name, places, plain, executable, layout):
    """Writes a list of the workspace's files, in the form that toa's internal/sources reads."""
    out = ctx.actions.declare_file(name)
    marked = {file: True for file in ctx.files.executables}
    args = ctx.actions.args()
    args.set_param_file_format("multiline")
    args.add("toa/sources/v1\t%s\t%s\t%s" % (places, ctx.workspace_name, _root(ctx)))
    args.add(plain(ctx.file.context))
    args.add_all(
        [file for file in ctx.files.srcs if file not in marked and file != ctx.file.context],
        expand_directories = False,
        map_each = plain,
    )
    args.add_all(ctx.files.executables, expand_directories = False, map_each = executable)
    args.add_all(["link\t%s\t%s" % pair for pair in sorted(ctx.attr.symlinks.items())])
    args.add_all([layout(*image) for image in _layouts(ctx)])
    ctx.actions.write(out, args)
    return out

def _root(ctx):
    directory = ctx.file.context.short_path.rpartition("/")[0]
    return directory or "."

def _layout(kind, path, file):
    return "%s\t%s\t%s" % (kind, path, file.path)

def _layout_runfile(kind, path, file):
    return "%s\t%s\t%s" % (kind, path, file.short_path)

def _toa_workspace_impl(ctx):
    if ctx.file.context.basename != "context.toa.yaml":
        fail("context is %s, expected a file context.toa.yaml" % ctx.attr.context.label)
    sources = _list(ctx, ctx.label.name + ".sources", "files", _plain, _executable, _layout)
    runfiles_sources = _list(ctx, ctx.label.name + ".runfiles.sources", "runfiles", _plain_runfile, _executable_runfile, _layout_runfile)
    files = depset(
        [ctx.file.context],
        transitive = [depset(ctx.files.srcs), depset(ctx.files.executables)] +
                     [target[DefaultInfo].files for target in ctx.attr.images.keys() + ctx.attr.finished.keys()],
    )
    return [
        DefaultInfo(files = depset([sources])),
        ToaWorkspaceInfo(
            environment = ctx.attr.environment,
            files = files,
            runfiles_sources = runfiles_sources,
            sources = sources,
        ),
    ]

toa_workspace = rule(
    implementation = _toa_workspace_impl,
    attrs = {
        "context": attr.label(
            allow_single_file = [".yaml"],
            doc = "context.toa.yaml. Its directory is the workspace, and everything else is below it.",
            mandatory = True,
        ),
        "environment": attr.string(
            doc = "The environment that targets use which name none, as `toa` takes it: `production`, or a chain.",
        ),
        "executables": attr.label_list(
            allow_files = True,
            doc = "Those of the files that may be executed; they need not be in srcs. Bazel does not tell the mode of a file, and images have it.",
        ),
        "finished": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Finished images that Bazel builds: a target that gives one directory with an OCI image layout, and the composition that runs it. toa publishes and releases them as they are.",
        ),
        "images": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Base images that Bazel builds: a target that gives one directory with an OCI image layout (oci_image of rules_oci), and the path at which context.toa.yaml names it as oci-layout://PATH. toa.lock does not pin them.",
        ),
        "srcs": attr.label_list(
            allow_files = True,
            doc = "All other files that toa may read: manifests, what components are made of, toa.lock, .toaignore, package.json and package-lock.json, installed packages. Generated ones may be among them.",
        ),
        "symlinks": attr.string_dict(
            doc = "Links of the workspace, path to target: Bazel shows the file that a link leads to, and images have the link.",
        ),
    },
    doc = "Declares a toa workspace. It does nothing by itself.",
    provides = [ToaWorkspaceInfo],
)
