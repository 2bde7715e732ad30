'use strict'

function condition ({ origin }) {
  return origin === null
}

function payload ({ state }) {
  return { id: state.id, email: state.email, name: state.name, code: state.code }
}

exports.condition = condition
exports.payload = payload
