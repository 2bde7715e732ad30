'use strict'

function condition ({ origin, state }) {
  return origin?.status !== 'cancelled' && state.status === 'cancelled'
}

function payload ({ state, trailers }) {
  return { id: state.id, account: state.account, reason: trailers.reason }
}

exports.condition = condition
exports.payload = payload
