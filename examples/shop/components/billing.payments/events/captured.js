'use strict'

function condition ({ origin, state }) {
  return origin?.status !== 'captured' && state.status === 'captured'
}

function payload ({ state }) {
  return { id: state.id, order: state.order, amount: state.captured }
}

exports.condition = condition
exports.payload = payload
