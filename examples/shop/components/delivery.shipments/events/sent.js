'use strict'

function condition ({ origin, state }) {
  return origin?.status === 'waiting' && state.status === 'sent'
}

function payload ({ state }) {
  return { id: state.id, order: state.order, parcel: state.parcel }
}

exports.condition = condition
exports.payload = payload
