FROM {{ .Base }}
{{- range .Env }}
ENV {{ env . }}
{{- end }}
ENV PATH={{ .Workdir }}/node_modules/.bin:$PATH
WORKDIR {{ .Workdir }}
RUN {{ npm nil }}npm install --prefix {{ .Workdir }} --omit=dev --no-audit --no-fund{{ if .NPM.Registry }} --registry {{ quote .NPM.Registry }}{{ end }}{{ if .NPM.Proxy }} --proxy {{ quote .NPM.Proxy }} --https-proxy {{ quote .NPM.Proxy }}{{ end }}{{ range .Packages }} {{ quote . }}{{ end }} && test -x {{ .Workdir }}/node_modules/.bin/toa
