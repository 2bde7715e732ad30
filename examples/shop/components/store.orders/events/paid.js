'use strict'

function condition ({ origin, state }) {
  return origin?.status !== 'paid' && state.status === 'paid'
}

function payload ({ state }) {
  return { id: state.id, account: state.account, lines: state.lines }
}

exports.condition = condition
exports.payload = payload
